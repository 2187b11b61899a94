"use strict";
(() => {
  const PAPER = 680; // px of a figure in print
  const NARROW = 600; // px below which panels stand in one column
  const MARGIN = { l: 55, r: 10, t: 62, b: 45 }; // px around the plots of a chart
  const LEGEND = { row: 20, mark: 50, letter: 7 }; // px of its rows, an entry's line, and a letter
  const BUTTONS = 230; // px of the buttons for a chart
  const find = (selector, root = document) => Array.from(root.querySelectorAll(selector));

  async function unpack(id) {
    const bytes = Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }
  globalThis.unpack = unpack; // for other scripts of the page

  // Data of a figure: as it is on the page, or out of the traces of the interactive one.
  const cell = (text) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const digits = (x) => (Number.isNaN(x) ? "" : String(Number(x.toPrecision(7))));
  function floats({ bdata }) {
    return new Float32Array(Uint8Array.from(atob(bdata), (c) => c.charCodeAt(0)).buffer);
  }
  function table({ data, table: { head, parts } }) {
    const lines = [head.map(cell).join(",")];
    for (const { lead, trace, upper } of parts) {
      const columns = [data[trace].x, data[trace].y].concat(upper ? data[trace + 1].y : []).map(floats);
      const texts = lead.map(cell).join(",");
      const rest = ",".repeat(head.length - lead.length - columns.length);
      for (let k = 0; k < columns[0].length; k++)
        lines.push(`${texts},${columns.map((column) => digits(column[k])).join(",")}${rest}`);
    }
    return lines.join("\n") + "\n";
  }
  async function csvOf(name) {
    if (document.getElementById(`csv-${name}`)) return unpack(`csv-${name}`);
    return table(JSON.parse(await unpack("figures"))[name]);
  }
  for (const button of find("button.data")) {
    button.addEventListener("click", async () => {
      const name = button.dataset.name;
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([await csvOf(name)], { type: "text/csv" }));
      link.download = `${name}.csv`;
      link.click();
      URL.revokeObjectURL(link.href);
    });
  }

  // Sorting of tables: numbers by value, the rest by letters.
  const value = (cell) => {
    const text = cell.textContent.trim();
    const number = parseFloat(text.replace(/^[<>≤≥=] /, ""));
    return Number.isNaN(number) ? text : number;
  };
  const order = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  for (const head of find("th")) {
    head.querySelector("button").addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of head.parentNode.children) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const body = head.closest("table").tBodies[0];
      const rows = Array.from(body.rows);
      rows.sort((a, b) => order(value(a.cells[head.cellIndex]), value(b.cells[head.cellIndex])));
      body.append(...(up ? rows : rows.reverse()));
    });
  }

  // A table that its place would cut is stacked.
  const boxes = find(".scroll");
  const stack = () => {
    for (const box of boxes) box.firstElementChild.classList.remove("stacked");
    const cut = boxes.filter((box) => box.scrollWidth > box.clientWidth + 1);
    for (const box of cut) box.firstElementChild.classList.add("stacked");
  };
  stack();
  addEventListener("resize", stack);
  addEventListener("toggle", stack, true); // of folded sections

  // A link to a folded section opens it.
  const unfold = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const folded = target?.querySelector("details") ?? target?.closest("details");
    if (folded) folded.open = true;
  };
  addEventListener("hashchange", unfold);
  unfold();

  if (!document.getElementById("plotly") || typeof DecompressionStream === "undefined") return;

  const css = (role) => getComputedStyle(document.documentElement).getPropertyValue(`--${role}`).trim();
  function colored(part) {
    if (typeof part === "string" && part.startsWith("role:")) {
      const [, role, alpha] = part.split(":");
      const color = css(role);
      return alpha ? color + Math.round(255 * alpha).toString(16).padStart(2, "0") : color;
    }
    if (Array.isArray(part)) return part.map(colored);
    if (part && typeof part === "object")
      return Object.fromEntries(Object.entries(part).map(([key, inner]) => [key, colored(inner)]));
    return part;
  }
  // What the legend takes above the plots: plotly gives all entries the widest's room if they do
  // not fit into a row, and the buttons for a chart stand at the right end of the first one.
  function legendOf(figure, width) {
    const entries = figure.data.filter((trace) => trace.showlegend && trace.name);
    const widths = entries.map((trace) => LEGEND.mark + LEGEND.letter * trace.name.length);
    const needed = widths.reduce((sum, each) => sum + each, 0);
    const columns = Math.max(1, Math.floor((width - MARGIN.l) / Math.max(...widths)));
    const rows = needed > width - MARGIN.l ? Math.ceil(entries.length / columns) : 1;
    const below = width >= NARROW && needed > width - MARGIN.l - BUTTONS ? LEGEND.row : 0;
    return { below, top: Math.max(MARGIN.t, LEGEND.row * rows + LEGEND.row + below) };
  }
  function layoutOf(figure, width) {
    const layout = structuredClone(figure.layout);
    if (width < NARROW) {
      for (const [axis, domain] of Object.entries(figure.narrow.axes)) Object.assign(layout[axis], domain);
      for (const [scene, domain] of Object.entries(figure.narrow.scenes)) Object.assign(layout[scene].domain, domain);
      layout.annotations = figure.narrow.annotations;
      layout.height = figure.narrow.height;
      if (layout.yaxis?.scaleanchor) layout.height = Math.min(layout.height, width); // a square
    }
    for (const [key, axis] of Object.entries(layout))
      if (/^[xy]axis/.test(key)) {
        Object.assign(axis, { gridcolor: css("grid"), linecolor: css("muted"), zeroline: false, automargin: true });
        if (axis.title) axis.title.font = { size: 12 };
      }
    const { below, top } = legendOf(figure, width);
    layout.height += top - MARGIN.t;
    return Object.assign(colored(layout), {
      width, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { color: css("ink"), size: 12, family: getComputedStyle(document.body).fontFamily },
      legend: { orientation: "h", x: 0, y: 1 - below / layout.height, yref: "container", yanchor: "top" },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: css("muted"), activecolor: css("ink") },
      hoverlabel: { bgcolor: css("panel"), font: { color: css("ink") } },
      margin: { ...MARGIN, t: top }, hovermode: "closest", dragmode: "zoom",
    });
  }
  const config = (width) => ({
    displaylogo: false, displayModeBar: width < NARROW ? false : "hover",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "sendDataToCloud"],
  });

  async function start() {
    const script = document.createElement("script");
    script.textContent = await unpack("plotly");
    document.head.append(script);
    const figures = JSON.parse(await unpack("figures"));
    const shown = new Map();
    let onPaper = false;
    const draw = (node) => {
      const figure = figures[node.dataset.chart];
      const live = node.querySelector(".live");
      // What a reader has switched off stays off when theme or width change.
      const kept = (live.data || []).map((trace) => trace.visible);
      const data = colored(figure.data).map((trace, k) => (kept[k] === undefined ? trace : { ...trace, visible: kept[k] }));
      shown.set(node, node.clientWidth);
      const width = onPaper ? Math.min(node.clientWidth, PAPER) : node.clientWidth;
      return Plotly.react(live, data, layoutOf(figure, width), config(width)).then(() =>
        node.dispatchEvent(new CustomEvent("drawn", { bubbles: true })));
    };
    // A figure is drawn when it comes near the window: the page answers at once.
    const watch = new IntersectionObserver((entries) => {
      for (const entry of entries)
        if (entry.isIntersecting) { watch.unobserve(entry.target); draw(entry.target); }
    }, { rootMargin: "600px" });
    const turns = Boolean(document.createElement("canvas").getContext("webgl"));
    const drawable = (figure) => figure && (turns || !figure.layout.scene);
    const nodes = find("figure[data-chart]");
    for (const node of nodes)
      if (drawable(figures[node.dataset.chart])) watch.observe(node);
      else node.querySelector(".live").textContent = "This figure needs WebGL.";
    const redraw = (changed) => { for (const [node, width] of shown) if (changed || node.clientWidth !== width) draw(node); };
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => redraw(true));
    addEventListener("resize", () => redraw(false));
    const print = (paper) => {
      onPaper = paper;
      document.documentElement.classList.toggle("paper", paper);
      if (paper) for (const node of nodes) if (node.checkVisibility() && drawable(figures[node.dataset.chart])) shown.set(node, 0);
      redraw(true);
    };
    addEventListener("beforeprint", () => print(true));
    addEventListener("afterprint", () => print(false));
    document.documentElement.dataset.ready = "yes";
  }
  start();
})();
