"use strict";
/** The position of one joint over a motion, and its torque where that is known; a click is a time. */
class JointCurve {
  static SAMPLES = 300;

  constructor(figure, robot, seek) {
    Object.assign(this, { figure, robot, svg: figure.querySelector("svg"), caption: figure.querySelector("figcaption") });
    this.svg.addEventListener("click", (event) => {
      const { left, width } = this.svg.getBoundingClientRect(), { start, end } = this.motion;
      seek(start + ((event.clientX - left) / width) * (end - start));
    });
  }

  show(motion, joint) {
    if (motion === this.motion && joint === this.joint) return;
    Object.assign(this, { motion, joint });
    this.figure.hidden = joint < 0;
    this.svg.replaceChildren();
    if (joint < 0) return;
    const n = this.robot.dof, count = motion.t.length, step = Math.max(1, Math.floor(count / JointCurve.SAMPLES));
    const at = Array.from({ length: Math.ceil(count / step) }, (_, k) => k * step), { name, unit } = this.robot.joints[joint];
    const q = at.map((k) => motion.q[n * k + joint]), [low, high] = [Math.min(...q), Math.max(...q)];
    const add = (kind, attributes) => {
      const node = this.svg.appendChild(document.createElementNS("http://www.w3.org/2000/svg", kind));
      for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
      return node;
    };
    const chain = (height) => at.map((k, i) => `${(100 * (motion.t[k] - motion.start)) / (motion.end - motion.start)},${height(k, i)}`).join(" ");
    add("polyline", { points: chain((_, i) => 38 - (36 * (q[i] - low)) / (high - low || 1)) });
    if (motion.torque) add("polyline", { class: "torque", points: chain((k) => 38 - (36 * motion.torque[n * k + joint]) / 255) });
    this.line = add("line", { y1: 0, y2: 40 });
    const shown = (value) => (unit === "m" ? `${(1e3 * value).toFixed(1)} mm` : `${((value * 180) / Math.PI).toFixed(1)}°`);
    this.caption.textContent = `${name}: position, ${shown(low)} to ${shown(high)}${motion.torque ? "; dashed: torque over its limit or peak" : ""}`;
    this.svg.setAttribute("aria-label", this.caption.textContent);
  }

  mark(t) {
    if (this.joint < 0 || !this.line) return;
    const x = (100 * (t - this.motion.start)) / (this.motion.end - this.motion.start);
    for (const key of ["x1", "x2"]) this.line.setAttribute(key, x);
  }
}

/** A motion from the text of a log: columns t [s], q.JOINT [rad or m] and, if there are, tau.JOINT [N m or N]. */
function motionOfCsv(text, robot) {
  const [head, ...lines] = text.split(/\r?\n/).filter((line) => line.trim() && !line.startsWith("#"));
  const names = (head ?? "").split(",").map((name) => name.trim());
  const columnOf = (name) => names.indexOf(name);
  const columns = ["t", ...robot.joints.map((joint) => `q.${joint.name}`)];
  const missing = columns.find((name) => columnOf(name) < 0);
  if (missing) throw new Error(`The file has no column ${missing}; write a log of this robot with robotid import.`);
  const rows = lines.map((line) => line.split(",").map((cell) => (cell.trim() ? Number(cell) : NaN)));
  const values = (name) => rows.map((row) => row[columnOf(name)]);
  const t = Float64Array.from(values("t")), q = columns.slice(1).map(values);
  const bad = t.findIndex((time, k) => !(Number.isFinite(time) && (!k || time > t[k - 1]) && q.every((column) => Number.isFinite(column[k]))));
  if (t.length < 2 || bad >= 0) throw new Error(bad < 0 ? "The file has fewer than two rows." : `Row ${bad + 1} of the file has a time that does not increase, or an invalid position.`);
  const torques = robot.joints.map((joint) => `tau.${joint.name}`);
  const known = torques.every((name) => columnOf(name) >= 0), byRow = (parts, Kind) => Kind.from({ length: t.length * robot.dof }, (_, k) => parts[k % robot.dof][Math.floor(k / robot.dof)]);
  const shares = torques.map((name, j) => {
    if (!known) return [];
    const sizes = values(name).map((value) => Math.abs(value) || 0);
    const full = robot.joints[j].effort || sizes.reduce((most, value) => Math.max(most, value), 1e-12);
    return sizes.map((value) => Math.min(255, Math.round((255 * value) / full)));
  });
  return { t, q: byRow(q, Float32Array), torque: known ? byRow(shares, Uint8Array) : null, beside: [], magnification: 1, own: "log" };
}
