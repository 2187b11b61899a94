"use strict";
(async () => {
  const AXES = [[214, 64, 64], [52, 148, 82], [66, 110, 214]]; // x, y, z
  const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4, 8], MAGNIFICATIONS = 6;
  const SLOW = 30, FAST = 18; // ms a frame at which the picture gets coarser or finer
  const section = document.getElementById("replay");
  const find = (selector) => section.querySelector(selector);
  const canvas = find("canvas"), player = find(".player"), room = find(".room");
  const fail = (text) => { find(".message").textContent = text; };
  if (typeof DecompressionStream === "undefined") return fail("This browser is too old for the replay.");
  const data = JSON.parse(await unpack("replay-data"));
  const robot = new ReplayRobot(data);
  const motions = data.motions.map((motion) => new ReplayMotion(motion, robot));
  let scene;
  try { scene = new ReplayScene(canvas, robot.meshes, robot.coarse); } catch { return fail("The replay needs WebGL 2, which this browser does not offer."); }
  find(".message").remove();

  const state = { motion: motions[0], t: motions[0].start, playing: false, speed: data.speed, color: "", magnification: 1, scale: 1, hand: null, joint: -1 };
  const dark = matchMedia("(prefers-color-scheme: dark)");

  // Bounds of the motions.
  const outermost = robot.outermost(), POSES = 40;
  function spaceOf(motion) {
    const points = [];
    for (let k = 0; k <= POSES; k++) {
      const poses = robot.poses(motion.position(motion.start + (k / POSES) * (motion.end - motion.start)));
      for (const { body, point } of outermost) if (body || !k) points.push(ReplayRobot.placed(poses[body], point));
      points.push(robot.tipOf(poses));
    }
    return points;
  }
  const spaces = new Map(motions.map((motion) => [motion, spaceOf(motion)])), all = [...spaces.values()].flat();
  const ends = [0, 1, 2].map((i) => [Math.min, Math.max].map((most) => all.reduce((best, p) => most(best, p[i]), 0)));
  const size = Math.max(...ends.map(([low, high]) => high - low));
  const floor = ends[2][0] < -0.02 * size ? ends[2][0] - 0.04 * size : 0;
  const camera = new OrbitCamera(data.direction, all);
  scene.layFloor(floor, ends.slice(0, 2).map(([low, high]) => 0.5 * (low + high)), 1.6 * size);

  // Colors.
  const css = (role) => getComputedStyle(document.documentElement).getPropertyValue(`--${role}`).trim();
  const cachedColors = new Map(); // computing a style at every frame takes longer than drawing
  function rgb(role) {
    if (!cachedColors.has(role)) {
      const text = css(role);
      cachedColors.set(role, [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16)));
    }
    return cachedColors.get(role);
  }
  const clear = (color, alpha) => [...color.map((value) => (alpha * value) / 255), alpha];
  let theme;
  const shade = (share) => {
    const place = Math.min(1, share) * (data.shades.length - 1), k = Math.min(data.shades.length - 2, Math.floor(place));
    return data.shades[k].map((value, i) => value + (place - k) * (data.shades[k + 1][i] - value));
  };
  const plain = (motion) => robot.meshes.map((mesh) => (motion.beside.length ? data.reference : mesh.color));

  function colorsOf(shares) {
    const own = plain(state.motion);
    if (!shares) return own;
    return robot.meshes.map((mesh) => (mesh.body < 0 ? data.reference : shade(shares[mesh.body])));
  }

  function setPaths() {
    const paths = state.motion.paths(state.magnification);
    const roles = ["joint-2", ...state.motion.beside.map((arm) => arm.role)];
    scene.setPaths(paths.map((points, k) => ({
      points, width: k ? 1.6 : 1.8,
      color: clear(k || !state.motion.beside.length ? rgb(roles[k]) : rgb("muted"), 0.9),
    })).reverse());
  }

  find(".scale .bar").style.background = `linear-gradient(90deg, ${data.shades.map((color) => `rgb(${color})`)})`;

  function setTheme() {
    cachedColors.clear();
    theme = { grid: clear(rgb("muted"), dark.matches ? 0.5 : 0.42), shadow: [0, 0, 0, dark.matches ? 0.42 : 0.13] };
    setPaths();
    listArms();
    wake();
  }

  // Choices.
  const option = (select, value, text) => {
    const node = select.appendChild(document.createElement("option"));
    [node.value, node.textContent] = [value, text];
  };
  const choice = (selector, apply) => find(selector).addEventListener("change", (event) => { apply(event.target.value); wake(); });
  motions.forEach((motion, k) => option(find("select.motion"), k, motion.name));
  for (const speed of [...new Set([...SPEEDS, data.speed])].sort((a, b) => a - b)) option(find("select.speed"), speed, `${speed} ×`);
  find("select.speed").value = data.speed;
  const limitless = robot.joints.some((joint) => !joint.effort);
  const quantities = { torque: limitless ? "torque / limit or peak" : "torque / limit", velocity: "velocity / limit", position: "position / limit", residual: "residual / 3 std", contact: "contact" };
  choice("select.motion", (k) => setMotion(motions[k]));
  choice("select.speed", (value) => { state.speed = Number(value); });
  choice("select.color", (value) => { state.color = value; });
  choice(".magnify select", (value) => { state.magnification = Number(value); setPaths(); });

  function setMotion(motion, t = motion.start) {
    if (motion !== state.motion || !theme) {
      state.motion = motion;
      state.magnification = motion.magnification;
      find("select.motion").value = motions.indexOf(motion);
      const colors = find("select.color"), factors = find(".magnify select");
      colors.replaceChildren();
      option(colors, "", "as built");
      for (const [key, name] of Object.entries(quantities)) if (motion.shares(key, motion.start)) option(colors, key, name);
      colors.value = state.color;
      if (colors.selectedIndex < 0) colors.value = state.color = "";
      factors.replaceChildren();
      const steps = [1, 2, 5].flatMap((digit) => Array.from({ length: MAGNIFICATIONS }, (_, k) => digit * 10 ** k));
      for (const value of [...new Set([...steps, motion.magnification])].sort((a, b) => a - b)) option(factors, value, `× ${value}`);
      factors.value = motion.magnification;
      find(".magnify").hidden = !motion.beside.length;
      Object.assign(find("input.time"), { min: motion.start, max: motion.end });
      camera.show(spaces.get(motion));
      setPaths();
      listArms();
    }
    state.t = Math.min(motion.end, Math.max(motion.start, t));
    state.hand = null;
    curve.show(state.motion, state.joint);
    wake();
  }

  const hidden = new Set();
  function listArms() {
    const list = find(".arms");
    list.replaceChildren();
    const own = state.motion.beside.length ? state.motion.own : "";
    list.hidden = !own;
    for (const [k, { name, role }] of [{ name: own, role: "muted" }, ...state.motion.beside].entries()) {
      const label = list.appendChild(document.createElement("li")).appendChild(document.createElement("label"));
      const box = label.appendChild(document.createElement("input"));
      Object.assign(box, { type: "checkbox", checked: !hidden.has(name), disabled: k === 0 });
      box.addEventListener("change", () => { hidden[box.checked ? "delete" : "add"](name); wake(); });
      label.appendChild(document.createElement("span")).style.background = `var(--${role})`;
      label.append(name);
    }
  }

  // Joints: a slider moves one by hand, a click on its name draws its curve.
  const rows = robot.joints.map((joint, j) => {
    const row = find(".joints").appendChild(document.createElement("li"));
    const [name, value, slider, bar] = ["button", "span", "input", "span"].map((kind, k) => {
      const node = row.appendChild(document.createElement(kind));
      node.className = ["name", "value", "slider", "bar"][k];
      return node;
    });
    name.textContent = name.title = joint.name;
    Object.assign(name, { type: "button", ariaLabel: `Curve of ${joint.name}` }).setAttribute("aria-pressed", false);
    name.addEventListener("click", () => {
      state.joint = state.joint === j ? -1 : j;
      rows.forEach((other, k) => other.name.setAttribute("aria-pressed", k === state.joint));
      curve.show(state.motion, state.joint);
      wake();
    });
    Object.assign(slider, { type: "range", min: joint.lower, max: joint.upper, step: "any" }).setAttribute("aria-label", `Position of ${joint.name}`);
    slider.addEventListener("input", () => {
      play(false);
      state.hand ??= state.motion.position(state.t);
      state.hand[j] = Number(slider.value);
      wake();
    });
    return { name, value, slider, fill: bar.appendChild(document.createElement("span")), bar };
  });
  const curve = new JointCurve(find(".curve"), robot, (t) => { play(false); seek(t); });

  function showJoints(q, shares) {
    rows.forEach(({ value, slider, fill, bar }, j) => {
      slider.value = q[j];
      value.textContent = robot.joints[j].unit === "m" ? `${(1e3 * q[j]).toFixed(1)} mm` : `${((q[j] * 180) / Math.PI).toFixed(1)}°`;
      bar.hidden = !shares;
      if (!shares) return;
      fill.style.width = `${(100 * Math.min(1, shares[j])).toFixed(1)}%`;
      fill.style.background = `rgb(${shade(shares[j]).map(Math.round)})`;
    });
    const scale = find(".scale");
    scale.hidden = !shares;
    if (shares) scale.querySelector(".name").textContent = quantities[state.color];
  }

  // Time.
  const digits = (t) => `${t.toFixed(2)} s`;
  function seek(t, motion = state.motion) {
    setMotion(motion, t);
  }
  function play(on) {
    if (on && state.t >= state.motion.end) state.t = state.motion.start;
    state.playing = on;
    if (on) state.hand = null;
    const button = find("button.play");
    button.setAttribute("aria-pressed", on);
    button.setAttribute("aria-label", on ? "Pause" : "Play");
    if (on) floats = true;
    clearTimeout(still);
    last = null;
    wake();
  }
  find("button.play").addEventListener("click", () => play(!state.playing));
  find("input.time").addEventListener("input", (event) => seek(Number(event.target.value)));
  const plots = new ReplayPlots(data.panels, (name, t) => {
    play(false);
    floats = true;
    seek(t, motions.find((motion) => motion.name === name));
  });

  // Keys, pointers and wheel.
  const turns = { a: [-6, 0], d: [6, 0], w: [0, -6], s: [0, 6] };
  section.addEventListener("keydown", (event) => {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, input[type=checkbox], input[type=file], input.slider, a")) return;
    const step = event.shiftKey ? 1 : 0.05, on = event.target === canvas;
    if (key === " " && !event.target.matches("button")) play(!state.playing);
    else if (key === "ArrowLeft" || key === "ArrowRight") seek(state.t + (key === "ArrowLeft" ? -step : step));
    else if (key === "Home") seek(state.motion.start);
    else if (key === "End") seek(state.motion.end);
    else if (on && turns[key]) camera.turn(...turns[key]);
    else if (on && (key === "+" || key === "=")) camera.zoom(0.88);
    else if (on && key === "-") camera.zoom(1.14);
    else if (on && key === "r") camera.reset();
    else return;
    event.preventDefault();
    wake();
  });
  const held = new Map();
  canvas.addEventListener("pointerdown", (event) => {
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    held.set(event.pointerId, [event.clientX, event.clientY]);
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = held.get(event.pointerId);
    if (!before) return;
    const [dx, dy] = [event.clientX - before[0], event.clientY - before[1]];
    const other = [...held].find(([id]) => id !== event.pointerId);
    if (other) {
      const gap = ([x, y]) => Math.max(8, Math.hypot(x - other[1][0], y - other[1][1]));
      camera.zoom(gap(before) / gap([event.clientX, event.clientY]));
      camera.move(0.5 * dx / canvas.clientHeight, 0.5 * dy / canvas.clientHeight);
    } else if (event.shiftKey || event.buttons === 2 || event.buttons === 4) camera.move(dx / canvas.clientHeight, dy / canvas.clientHeight);
    else camera.turn(0.4 * dx, 0.4 * dy);
    held.set(event.pointerId, [event.clientX, event.clientY]);
    wake();
  });
  for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, (event) => held.delete(event.pointerId));
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas && !event.ctrlKey) return; // the page scrolls
    event.preventDefault();
    camera.zoom(1.0015 ** event.deltaY);
    wake();
  }, { passive: false });
  find(".reset").addEventListener("click", () => { camera.reset(); wake(); });

  // The player follows the reader to the plots when it has been used.
  let floats = false, inView = true;
  function place() {
    const out = floats && !inView;
    if (out === player.classList.contains("floating")) return;
    room.style.minHeight = out ? `${room.clientHeight}px` : "";
    player.classList.toggle("floating", out);
    resize();
  }
  find(".close").addEventListener("click", () => { floats = false; play(false); floats = false; place(); });
  new IntersectionObserver(([entry]) => { inView = entry.isIntersecting; wake(); }, { rootMargin: "-60px" }).observe(room);

  // Drawing.
  let awake = false, last = null, average = (SLOW + FAST) / 2, still = 0, refined = false, pixels = 1, frames = 0, lastUpdate = 0;
  function resize(scale = state.scale) {
    const ratio = Math.min(2, devicePixelRatio) * scale;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight].map((value) => Math.max(1, Math.round(value * ratio)));
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    [pixels, refined] = [width / Math.max(1, canvas.clientWidth), false];
    camera.resize(width / height);
  }

  /** Draw coarser where frames take long, as in software, and finer again where they do not. */
  function adapt(milliseconds) {
    const weight = 0.08;
    average = (1 - weight) * average + weight * Math.min(milliseconds, 100);
    const factor = average > SLOW ? 0.85 : average < FAST ? 1.1 : 1;
    const scale = Math.min(1, Math.max(0.4, state.scale * factor));
    if (scale === state.scale) return;
    state.scale = scale;
    average = (SLOW + FAST) / 2;
    resize();
  }

  /** Draw finer than pixels where edges are not smooth, once nothing moves. */
  function refine() {
    resize(2 / Math.max(1, devicePixelRatio));
    refined = true;
    draw();
  }

  function wake() {
    if (!awake) requestAnimationFrame(frame);
    awake = true;
  }

  function frame(now) {
    awake = false;
    if (state.playing) {
      const passed = last === null ? 0 : now - last;
      if (passed) adapt(passed);
      state.t += (state.speed * Math.min(passed, 250)) / 1000;
      if (state.t > state.motion.end) state.t = state.motion.start;
      last = now;
      wake();
    }
    if (refined) resize();
    place();
    draw();
    clearTimeout(still);
    if (!state.playing && scene.software) still = setTimeout(refine, 150);
  }

  /** Lines that move with the arm: frames of its joints and tip, inertia ellipsoids of its bodies. */
  const layers = Object.fromEntries(["frames", "ellipsoids"].map((name) => [name, find(`input.${name}`)]));
  for (const box of Object.values(layers)) box.addEventListener("change", () => wake());
  function marksOf(poses) {
    const frames = layers.frames.checked ? robot.framesOf(poses, 0.07 * size) : [];
    const sections = layers.ellipsoids.checked ? robot.sectionsOf(poses) : [];
    return [
      ...sections.map((points) => ({ points: new Float32Array(points), width: 1, color: clear(rgb("identified"), 0.9) })),
      ...frames.flatMap((lines, k) => lines.map((points) => ({ points: new Float32Array(points), width: 1.5, color: clear(AXES[k], 1) }))),
    ];
  }

  function draw() {
    const { motion, t, hand } = state, arms = hand ? [hand] : motion.positions(t, state.magnification);
    const shares = state.color && !hand ? motion.shares(state.color, t) : null;
    find("input.time").value = t;
    plots.show(motion.name, t);
    curve.mark(t);
    const time = performance.now();
    if (!state.playing || time - lastUpdate > 100) { // limits the update rate of texts
      lastUpdate = time;
      find("input.time").setAttribute("aria-valuetext", digits(t));
      find("output.clock").textContent = `${digits(t)} / ${digits(motion.end)}`;
      showJoints(arms[0], shares);
    }
    if (!inView && !player.classList.contains("floating")) return;
    const looks = [colorsOf(shares), ...motion.beside.map((arm) => robot.meshes.map(() => rgb(arm.role)))];
    const shown = arms.map((q, k) => ({ poses: robot.poses(q), colors: looks[k] })).filter((_, k) => !k || !hidden.has(motion.beside[k - 1].name));
    scene.setMarks(marksOf(shown[0].poses));
    scene.draw(camera, shown, Math.floor(motion.at(t)[0] / motion.stride), theme, pixels, state.playing);
    frames += 1;
  }

  // Another log, from a file of the reader.
  find("input.file").addEventListener("change", async ({ target }) => {
    const notice = find(".notice");
    try {
      const [file] = target.files;
      if (!file) return;
      const motion = new ReplayMotion({ ...motionOfCsv(await file.text(), robot), name: file.name }, robot);
      motions.push(motion);
      spaces.set(motion, spaceOf(motion));
      option(find("select.motion"), motions.length - 1, motion.name);
      play(false);
      setMotion(motion);
      notice.textContent = "";
    } catch (error) { notice.textContent = error.message; }
    target.value = "";
  });

  canvas.setAttribute("aria-label", `${data.robot} in three dimensions`);
  dark.addEventListener("change", setTheme);
  new ResizeObserver(() => { resize(); wake(); }).observe(canvas);
  setMotion(motions[0]);
  setTheme();
  resize();
  wake();
  // For scripts, as of notebooks.
  section.replay = {
    robot: data.robot, get motions() { return motions.map((motion) => motion.name); }, play, draw, camera, state,
    seek: (t, name) => seek(t, motions.find((motion) => motion.name === name) ?? state.motion),
    poses: () => (state.hand ? [state.hand] : state.motion.positions(state.t, state.magnification)).map((q) => robot.poses(q)),
    marks: () => marksOf(section.replay.poses()[0]).map(({ points }) => [...points]),
    get frames() { return frames; },
  };
})();
