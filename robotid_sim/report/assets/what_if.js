"use strict";
// The form that repeats the fit: choices in, results and a configuration out. Names are text, not markup.
(async () => {
  const NAMED = 8; // largest number of parameters in a sentence
  const root = document.getElementById("live-what-if");
  if (!root) return;
  if (typeof DecompressionStream === "undefined") {
    root.textContent = "This browser cannot unpack the data of the page; use a newer one.";
    return;
  }
  const data = JSON.parse(await unpack("data-what-if"));
  const model = new Refit.Model(data);
  const start = model.start;

  // Elements: properties that begin with "aria" or "data" are attributes.
  function make(tag, properties = {}, ...children) {
    const node = document.createElement(tag);
    for (const [key, value] of Object.entries(properties))
      if (/^(aria|data)-/.test(key)) node.setAttribute(key, value);
      else node[key] = value;
    node.append(...children);
    return node;
  }
  const box = (text, label) => {
    const input = make("input", { type: "checkbox", defaultChecked: true, ...(label ? { ariaLabel: label } : {}) });
    return { input, label: make("label", {}, input, " ", text) };
  };
  const number = (properties) => make("input", { type: "number", step: "any", inputMode: "decimal", ...properties });

  // Numbers: a value to the second digit of its half-width, others to three or four digits.
  const short = (value, digits = 3) => (Number.isFinite(value) ? String(Number(value.toPrecision(digits))) : "–");
  function pair(value, half) {
    const places = 1 - Math.floor(Math.log10(half));
    if (!(half > 0) || places > 7 || places < -3) return `${short(value, 4)} ± ${short(half, 2)}`;
    const digits = Math.max(places, 0);
    return `${fixed(value, digits)} ± ${fixed(half, digits)}`;
  }
  const fixed = (value, digits) => value.toFixed(digits).replace(/^-(?=[0.]*$)/, ""); // no minus zero
  const signed = (value, digits) => {
    const text = fixed(value, Math.abs(value) < 10 ? digits : 0);
    return `${/^[0.]*$/.test(text) || value < 0 ? "" : "+"}${text}`;
  };
  const change = (now, before) => {
    if (!Number.isFinite(now / before)) return "–";
    return now < 10 * before ? `${signed(100 * (now / before - 1), 1)} %` : `× ${short(now / before, 2)}`;
  };

  // Choices.
  const joints = data.joints.map(([name]) => ({
    on: box(name),
    factor: number({ defaultValue: "1", min: "0", ariaLabel: `weight of ${name}` }),
  }));
  const windows = data.windows.map(({ low, high, group }) => box(`${short(low, 4)} – ${short(high, 4)} s`, `${group}, ${short(low, 4)} to ${short(high, 4)} s`));
  const groups = [...new Set(data.windows.map(({ group }) => group))].map((name) => ({
    name,
    own: windows.filter((_, w) => data.windows[w].group === name),
    all: box(name),
  }));
  const prior = number({ min: "0", placeholder: "none", disabled: !data.hasPrior });
  const ridge = number({ defaultValue: "0", min: "0" });
  const fixes = data.parameters.map(([name]) => number({ placeholder: "free", ariaLabel: `fix ${name} at` }));
  const hint = (text) => make("p", { className: "hint" }, text);
  const form = make(
    "form",
    { className: "choices" },
    make(
      "fieldset",
      {},
      make("legend", {}, "Joints and weights"),
      ...joints.map(({ on, factor }) => make("div", { className: "choice" }, on.label, factor)),
      hint("1: weighted by its noise. A deselected joint is still predicted."),
    ),
    make(
      "fieldset",
      {},
      make("legend", {}, "Times"),
      ...groups.map(({ name, all, own }) =>
        make(
          "div",
          { className: "times", role: "group", ariaLabel: name },
          ...(groups.length > 1 ? [make("strong", {}, all.label)] : []),
          ...(own.length > 1 || groups.length < 2 ? own.map(({ label }) => label) : []),
        ),
      ),
      hint(
        data.whitened
          ? "Rows are whitened over the whole log for unmodeled torque; excluded times have a small effect on the others."
          : "Excluded times are predicted by the fit of the others, in the table of joints.",
      ),
    ),
    make(
      "fieldset",
      {},
      make("legend", {}, "Prior information"),
      make("label", { className: "choice" }, "Prior: nominal (CAD) parameters to [%]", prior),
      hint("Standard deviation of every standard parameter of the nominal model, relative to its size."),
      make("label", { className: "choice" }, "Ridge, toward zero", ridge),
      hint("In units of WᵀW with columns of unit length: for a single column, 1 halves the estimate."),
    ),
  );
  const again = make("button", { type: "button", className: "data" }, "Reset");

  function choices() {
    for (const input of [prior, ridge, ...joints.map(({ factor }) => factor), ...fixes])
      if (!input.checkValidity()) throw new Error(`${input.ariaLabel || "Prior and ridge"}: enter a number${input.min ? " of 0 or more" : ""}.`);
    const given = ({ valueAsNumber }) => (Number.isNaN(valueAsNumber) ? undefined : valueAsNumber);
    return {
      off: windows.flatMap(({ input }, w) => (input.checked ? [] : [w])),
      weights: joints.map(({ on, factor }) => (on.input.checked ? given(factor) ?? 1 : 0)),
      fixed: fixes.map(given),
      ridge: given(ridge) ?? 0,
      prior: given(prior) > 0 ? given(prior) / 100 : null,
    };
  }

  // The configuration that repeats it; a TOML text is a JSON text.
  const quoted = (name) => JSON.stringify(name).replaceAll("\u007f", "\\u007f");
  function configuration({ off, weights, fixed, ridge: pull, prior: share }) {
    const table = (entries) => `{ ${entries.map(([name, value]) => `${quoted(name)} = ${value}`).join(", ")} }`;
    const lines = [`[estimation.options.${data.estimator}]`];
    const counted = data.joints.flatMap(([name], j) => (weights[j] === 1 ? [] : [[name, weights[j]]]));
    if (counted.length) lines.push(`joint_weights = ${table(counted)}`);
    if (off.length) lines.push(`without = [${off.map((w) => `[${data.windows[w].low}, ${data.windows[w].high}]`).join(", ")}]`);
    const held = data.parameters.flatMap(([name], k) => (fixed[k] === undefined ? [] : [[name, fixed[k]]]));
    if (held.length) lines.push(`fixed = ${table(held)}`);
    if (pull) lines.push(`ridge = ${pull}`);
    if (share !== null) lines.push(`prior = ${share}`);
    return `${data.file}\n${lines.join("\n")}\n`;
  }

  // What is shown.
  const status = make("p", { className: "outcome", role: "status" });
  const facts = Object.fromEntries(["condition number", "identifiable parameters", "rows"].map((name) => [name, make("dd")]));
  function tableOf(heads, rows) {
    const cells = rows.map((row) => row.map((cell, k) => make("td", { className: k ? "" : "text", "data-name": heads[k] }, cell)));
    const table = make(
      "table",
      {},
      make("thead", {}, make("tr", {}, ...heads.map((head, k) => make("th", { scope: "col", className: k ? "" : "text" }, head)))),
      make("tbody", {}, ...cells.map((row) => make("tr", {}, ...row))),
    );
    return { cells, box: make("div", { className: "scroll" }, table), table };
  }
  const tried = model.unseen ? ["unseen, all rows", "unseen now", "change"] : [];
  const byJoint = tableOf(
    ["joint", "residual, all rows", "residual now", "change", "excluded times", ...tried],
    data.joints.map(([name, unit]) => [`${name} [${unit}]`, "", "", "", "", ...tried.map(() => "")]),
  );
  const byParameter = tableOf(
    ["parameter", "all rows", "now", "change [std]", "fix at"],
    data.parameters.map(([name, unit], k) => [`${name} [${unit}]`, "", "", "", fixes[k]]),
  );
  const half = (fit, k) => data.quantile[k] * fit.std[k];
  const listed = (names) => names.slice(0, NAMED).join(", ") + (names.length > NAMED ? ` and ${names.length - NAMED} more` : "");
  function show(fit, { fixed: given, prior: share }) {
    const moved = data.parameters.map((_, k) => (fit.beta[k] - start.beta[k]) / start.std[k]);
    const beyond = moved.map((shift, k) => Math.abs(shift) > data.quantile[k]);
    facts["condition number"].textContent = `${short(fit.condition)} (all rows ${short(start.condition)})`;
    const held = given.filter((value) => value !== undefined).length;
    facts["identifiable parameters"].textContent = `${fit.shown} of ${data.parameters.length}${held ? `, ${held} fixed` : ""}`;
    facts.rows.textContent = `${fit.rows} of ${start.rows}`;
    data.joints.forEach((_, j) => {
      const unseen = fit.prediction ? [start.prediction[j], fit.prediction[j]] : null;
      const texts = [start.residual[j], fit.residual[j], null, fit.leftOut[j]].map((value) => short(value));
      texts[2] = change(fit.residual[j], start.residual[j]);
      if (unseen) texts.push(short(unseen[0]), short(unseen[1]), change(unseen[1], unseen[0]));
      texts.forEach((text, k) => { byJoint.cells[j][k + 1].textContent = text; });
    });
    data.parameters.forEach((_, k) => {
      const [, before, now, shift] = byParameter.cells[k];
      before.textContent = pair(start.beta[k], half(start, k));
      now.textContent = given[k] !== undefined ? `${given[k]} fixed` : fit.unseen[k] && share === null ? `${short(fit.beta[k])} not identifiable` : pair(fit.beta[k], half(fit, k));
      shift.textContent = signed(moved[k], 1);
      shift.parentNode.classList.toggle("moved", beyond[k]);
    });
    const lost = data.parameters.flatMap(([name], k) => (fit.unseen[k] ? [name] : []));
    const names = data.parameters.flatMap(([name], k) => (beyond[k] ? [name] : []));
    status.textContent =
      (names.length ? `${names.length} of ${beyond.length} parameters are outside of their interval: ${listed(names)}.` : "All parameters are within their intervals.") +
      (lost.length ? ` Not identifiable from the selected rows: ${listed(lost)}; ${share === null ? "nominal values are used" : "the prior determines them"}.` : "");
    status.classList.remove("failed");
  }
  const text = make("textarea", { id: "what-if-file", readOnly: true, rows: 12, spellcheck: false });
  const copy = make("button", { type: "button", className: "data" }, "Copy as study.toml");
  const copied = make("span", { role: "status" });

  let waiting = false;
  function update() {
    waiting = false;
    for (const { all, own } of groups) {
      const on = own.filter(({ input }) => input.checked).length;
      all.input.checked = on === own.length;
      all.input.indeterminate = on > 0 && on < own.length;
    }
    copied.textContent = "";
    try {
      const chosen = choices();
      show(model.fit(chosen), chosen);
      text.value = configuration(chosen);
      text.rows = text.value.split("\n").length;
    } catch (error) {
      status.textContent = error.message;
      status.classList.add("failed");
      text.value = "";
    }
    copy.disabled = !text.value;
  }
  const soon = () => {
    if (!waiting) requestAnimationFrame(update);
    waiting = true;
  };
  for (const { all, own } of groups)
    all.input.addEventListener("change", () => {
      for (const { input } of own) input.checked = all.input.checked;
      soon();
    });
  root.addEventListener("input", (event) => {
    if (!groups.some(({ all }) => all.input === event.target)) soon();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  again.addEventListener("click", () => {
    form.reset();
    for (const { input } of windows) input.checked = true;
    for (const input of fixes) input.value = "";
    soon();
  });
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.value);
    } catch {
      text.select(); // the clipboard may be blocked for local files
      document.execCommand("copy");
    }
    copied.textContent = " Copied.";
  });

  root.className = "what-if";
  root.append(
    form,
    make("p", {}, again),
    status,
    make("dl", { className: "facts" }, ...Object.entries(facts).map(([name, value]) => make("div", {}, make("dt", {}, name), value))),
    make("h3", {}, "Residual and prediction by joint, RMS"),
    byJoint.box,
    make("h3", {}, "Parameters with 95 % intervals"),
    make(
      "p",
      { className: "hint" },
      "Half-widths follow from the residuals of this fit, with the factor for correlated residuals of the fit of all rows. " +
        "A prior counts as measurements; a ridge and fixed values count as exact. Marked: outside of the interval of all rows.",
    ),
    byParameter.box,
    make("h3", {}, make("label", { htmlFor: text.id }, "The same fit on the command line: study.toml")),
    text,
    make("p", {}, copy, copied),
    make("pre", {}, make("code", {}, data.command)),
  );
  // A table without room is stacked, as the others of the page are.
  const stack = () => {
    for (const { box: around, table } of [byJoint, byParameter]) {
      table.classList.remove("stacked");
      table.classList.toggle("stacked", around.scrollWidth > around.clientWidth + 1);
    }
  };
  update();
  stack();
  addEventListener("resize", stack);
  Object.assign(root, { model, choices, configuration }); // for the console, and for tests
  root.dataset.ready = "yes";
})();
