"use strict";
/** The plots over time: a click in one is a time of a motion, and a line in them shows the time. */
class ReplayPlots {
  constructor(panels, seek) {
    this.seek = seek;
    this.figures = new Map();
    for (const panel of panels) {
      const figure = document.getElementById(`figure-${panel.chart}`);
      if (!figure) continue;
      if (!this.figures.has(figure)) this.#add(figure);
      const line = this.figures.get(figure).layer.appendChild(document.createElement("div"));
      this.figures.get(figure).panels.push({ ...panel, line });
    }
    this.seen = new Set();
    const watch = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) this.seen[isIntersecting ? "add" : "delete"](target);
      this.show(this.motion, this.t);
    }, { rootMargin: "100px" });
    for (const figure of this.figures.keys()) watch.observe(figure);
    addEventListener("resize", () => this.#forget());
    addEventListener("beforeprint", () => this.#forget());
  }

  #add(figure) {
    const layer = document.createElement("div");
    layer.className = "cursors";
    layer.setAttribute("aria-hidden", "true");
    figure.append(layer);
    const entry = { layer, panels: [], boxes: null };
    this.figures.set(figure, entry);
    figure.addEventListener("drawn", () => {
      const live = figure.querySelector(".live");
      if (!entry.listens) live.on("plotly_afterplot", () => { entry.boxes = null; this.show(this.motion, this.t); });
      entry.listens = true;
      entry.boxes = null;
      this.show(this.motion, this.t);
    });
    let down = null;
    figure.addEventListener("pointerdown", (event) => { down = [event.clientX, event.clientY]; }, true);
    addEventListener("pointerup", (event) => {
      const still = down && Math.hypot(event.clientX - down[0], event.clientY - down[1]) < 4;
      if (still && event.button === 0) this.#click(entry, figure, event);
      down = null;
    }, true);
  }

  #forget() {
    for (const entry of this.figures.values()) entry.boxes = null;
    this.show(this.motion, this.t);
  }

  /** Where the panels are in their figure [px], and the x at both ends. */
  #boxes(figure, entry) {
    const outer = figure.getBoundingClientRect(), live = figure.querySelector(".live");
    const layout = live._fullLayout;
    if (!layout) return [];
    const inner = live.getBoundingClientRect();
    const [left, top] = [inner.left - outer.left, inner.top - outer.top];
    return entry.panels.map(({ panel }) => {
      const number = panel ? panel + 1 : "";
      const [x, y] = [layout[`xaxis${number}`], layout[`yaxis${number}`]];
      return { left: left + x._offset, top: top + y._offset, width: x._length, height: y._length, low: x.range[0], high: x.range[1] };
    });
  }

  #click(entry, figure, event) {
    const outer = figure.getBoundingClientRect();
    const [x, y] = [event.clientX - outer.left, event.clientY - outer.top];
    this.#boxes(figure, entry).forEach((box, k) => {
      const [u, v] = [(x - box.left) / box.width, (y - box.top) / box.height];
      if (u < 0 || u > 1 || v < 0 || v > 1) return;
      const { motion, origin, unit } = entry.panels[k];
      this.seek(motion, origin + unit * (box.low + u * (box.high - box.low)));
    });
  }

  /** Show a time of a motion in the plots that can be seen. */
  show(motion, t) {
    Object.assign(this, { motion, t });
    for (const figure of this.seen) {
      const entry = this.figures.get(figure);
      entry.boxes ??= this.#boxes(figure, entry);
      if (!entry.boxes.length) continue; // not drawn yet
      entry.panels.forEach(({ motion: name, origin, unit, line }, k) => {
        const { left, top, width, height, low, high } = entry.boxes[k];
        const share = ((t - origin) / unit - low) / (high - low);
        const shown = name === motion && share >= 0 && share <= 1;
        line.hidden = !shown;
        if (!shown) return;
        line.style.height = `${height}px`;
        line.style.transform = `translate(${left + share * width}px, ${top}px)`;
      });
    }
  }
}
