"use strict";
// Weighted least squares from triangular factors: the same steps as the estimator
// restricted-least-squares takes on the rows themselves, and the same numbers to rounding.
// Matrices are Float64Arrays by column, {rows, columns, at}; all indices count from 0.
const Refit = (() => {
  const SPAN = 1e-9; // share of a column outside the span of those before it, below which it is not identifiable
  const LEAST = 1e-150; // replaces zero noise in divisions
  const ORTHOGONAL = 1e-11; // cosine of columns that are orthogonal enough for their lengths
  const FIXED_STD = 1e-3; // standard deviation of a fixed parameter over that of the fit of all rows

  const matrix = (rows, columns) => ({ rows, columns, at: new Float64Array(rows * columns) });
  const column = (A, j) => A.at.subarray(j * A.rows, (j + 1) * A.rows);
  const norm = (x) => {
    let largest = 0;
    for (const v of x) largest = Math.max(largest, Math.abs(v));
    if (largest === 0) return 0;
    let sum = 0;
    for (const v of x) sum += (v / largest) * (v / largest);
    return largest * Math.sqrt(sum);
  };
  const dot = (x, y) => {
    let sum = 0;
    for (let i = 0; i < x.length; i++) sum += x[i] * y[i];
    return sum;
  };

  // Householder QR in place; returns the upper factor, with no more rows than A has.
  function triangular(A) {
    const { rows, columns, at } = A;
    const steps = Math.min(rows - 1, columns);
    for (let k = 0; k < steps; k++) {
      const v = k * rows + k; // where the reflected vector begins
      const length = rows - k;
      const size = norm(at.subarray(v, v + length));
      if (size === 0) continue;
      const pivot = at[v] > 0 ? -size : size; // opposite sign, which avoids cancellation
      at[v] -= pivot;
      const half = -pivot * at[v]; // |v|^2 / 2
      for (let x = v + rows; x < at.length; x += rows) {
        let share = 0;
        for (let i = 0; i < length; i++) share += at[v + i] * at[x + i];
        if (share === 0) continue;
        share /= half;
        for (let i = 0; i < length; i++) at[x + i] -= share * at[v + i];
      }
      at[v] = pivot;
    }
    const R = matrix(Math.min(rows, columns), columns);
    for (let j = 0; j < columns; j++) column(R, j).set(column(A, j).subarray(0, Math.min(j + 1, R.rows)));
    return R;
  }

  // Blocks of rows, one below the other, each with its columns in those of the whole, times a factor.
  function stacked(blocks, columns) {
    const A = matrix(blocks.reduce((sum, block) => sum + block.R.rows, 0), columns);
    let top = 0;
    for (const { R, places, factor } of blocks) {
      places.forEach((place, j) => {
        const from = column(R, j);
        const to = column(A, place).subarray(top);
        for (let i = 0; i < R.rows; i++) to[i] = factor * from[i];
      });
      top += R.rows;
    }
    return A;
  }

  function selected(A, columns) {
    const B = matrix(A.rows, columns.length);
    columns.forEach((j, k) => column(B, k).set(column(A, j)));
    return B;
  }

  // Solves R x = z by substitution, R the upper left square of `size`.
  function substituted(R, z, size) {
    const x = Float64Array.from(z.subarray(0, size));
    for (let k = size - 1; k >= 0; k--) {
      const own = column(R, k);
      x[k] /= own[k];
      if (x[k] !== 0) for (let i = 0; i < k; i++) x[i] -= x[k] * own[i];
    }
    return x;
  }

  function inverse(R) {
    const size = R.columns;
    const inverted = matrix(size, size);
    const unit = new Float64Array(size);
    for (let k = 0; k < size; k++) {
      unit.fill(0);
      unit[k] = 1;
      column(inverted, k).set(substituted(R, unit, size));
    }
    return inverted;
  }

  // (R^T R)^-1 from the inverse of R, upper triangular.
  function normal(upper) {
    const size = upper.columns;
    const A = matrix(size, size);
    for (let i = 0; i < size; i++) {
      const own = column(upper, i);
      for (let k = 0; k <= i; k++) {
        const to = column(A, k);
        for (let j = 0; j <= i; j++) to[j] += own[j] * own[k];
      }
    }
    return A;
  }

  // Condition number of R with columns of unit length: singular values by one-sided Jacobi rotations.
  function condition(R) {
    const size = R.columns;
    const A = matrix(size, size);
    for (let j = 0; j < size; j++) {
      const own = column(R, j).subarray(0, size);
      const length = norm(own);
      for (let i = 0; i < size; i++) column(A, j)[i] = own[i] / length;
    }
    const { at } = A;
    const squared = Array.from({ length: size }, (_, j) => dot(column(A, j), column(A, j)));
    for (let sweep = 0, turned = true; turned && sweep < 40; sweep++) {
      turned = false;
      for (let p = 0; p < size; p++)
        for (let q = p + 1; q < size; q++) {
          const [x, y] = [p * size, q * size];
          let product = 0;
          for (let i = 0; i < size; i++) product += at[x + i] * at[y + i];
          if (Math.abs(product) <= ORTHOGONAL * Math.sqrt(squared[p] * squared[q])) continue;
          turned = true;
          const zeta = (squared[q] - squared[p]) / (2 * product);
          const t = (zeta < 0 ? -1 : 1) / (Math.abs(zeta) + Math.sqrt(1 + zeta * zeta));
          const c = 1 / Math.sqrt(1 + t * t);
          const s = c * t;
          for (let i = 0; i < size; i++) {
            const before = at[x + i];
            at[x + i] = c * before - s * at[y + i];
            at[y + i] = s * before + c * at[y + i];
          }
          squared[p] -= t * product;
          squared[q] += t * product;
        }
      squared.forEach((_, j) => { squared[j] = dot(column(A, j), column(A, j)); });
    }
    return Math.sqrt(Math.max(...squared) / Math.min(...squared));
  }

  // |R [-beta; 1]|^2: the squared residuals of the rows that a factor stands for.
  function squares({ R, places }, beta) {
    const left = new Float64Array(R.rows);
    places.forEach((place, j) => {
      const value = place < beta.length ? -beta[place] : 1;
      const from = column(R, j);
      for (let i = 0; i < R.rows; i++) left[i] += value * from[i];
    });
    return dot(left, left);
  }

  function decoded(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return new Float64Array(bytes.buffer);
  }

  // Unpack factors: upper trapezoids, row by row, one per window and joint.
  function unpacked(text, counts, places) {
    const values = decoded(text);
    let next = 0;
    return counts.map((count) =>
      places.map((own) => {
        const R = matrix(Math.min(count, own.length), own.length);
        for (let i = 0; i < R.rows; i++)
          for (let j = i; j < R.columns; j++) column(R, j)[i] = values[next++];
        return { R, places: own, factor: 1 };
      }),
    );
  }

  class Model {
    constructor(data) {
      this.data = data;
      this.size = data.parameters.length;
      const places = (columns) => columns.map((own) => [...own, this.size]);
      this.counts = data.windows.map((window) => window.rows);
      this.blocks = unpacked(data.factors, this.counts, places(data.columns));
      this.unseen = data.unseen && unpacked(data.unseen.factors, [data.unseen.rows], places(data.unseen.columns))[0];
      this.priorBeta = Float64Array.from(data.priorBeta);
      this.root = matrix(this.size, this.size); // whitens the errors of the nominal parameters
      const values = decoded(data.root);
      let next = 0;
      for (let i = 0; i < this.size; i++) for (let j = 0; j <= i; j++) column(this.root, j)[i] = values[next++];
      this.random = this.effects(data.random);
      this.merged = { key: null, joints: null };
      this.sizes = new Float64Array(this.size); // lengths of the columns in all rows
      for (const { R, places } of this.blocks.flat())
        for (let j = 0; j < places.length - 1; j++) this.sizes[places[j]] = Math.hypot(this.sizes[places[j]], norm(column(R, j)));
      this.start = this.fit({});
    }

    // W_j^T of a joint times its random effects, one per window, as lists of [effect, column] entries.
    effects(packed) {
      if (!packed) return null;
      const values = decoded(packed.products);
      let next = 0;
      return this.counts.map(() =>
        packed.effects.map((effects, j) => {
          const products = matrix(this.data.columns[j].length, effects.length);
          for (let k = 0; k < products.at.length; k++) products.at[k] = values[next++];
          return { products, effects };
        }),
      );
    }

    // One factor per joint for the remaining windows.
    joints(use) {
      const key = use.join();
      if (this.merged.key !== key) {
        const joints = this.data.columns.map((columns, j) => {
          const own = use.map((w) => this.blocks[w][j]);
          const local = own.map(({ R, places }) => ({ R, places: places.map((_, k) => k), factor: 1 }));
          return { R: triangular(stacked(local, columns.length + 1)), places: own[0].places, factor: 1 };
        });
        this.merged = { key, joints };
      }
      return this.merged.joints;
    }

    // The fit for choices: off (indices of windows), weights (by joint), fixed (by parameter, else
    // undefined), ridge, prior. Throws an Error with the reason where there is none.
    fit({ off = [], weights = [], fixed = [], ridge = 0, prior = null }) {
      const joints = this.data.joints.length;
      const use = this.counts.map((_, w) => w).filter((w) => !off.includes(w));
      const factors = this.data.joints.map((_, j) => weights[j] ?? 1);
      const active = factors.filter((factor) => factor > 0).length;
      const samples = use.reduce((sum, w) => sum + this.counts[w], 0);
      if (!active) throw new Error("Select at least one joint.");
      if (!samples) throw new Error("Select at least one time window.");
      const own = this.joints(use);
      const whole = (by) => triangular(stacked(own.map((f, j) => ({ ...f, factor: by[j] })), this.size + 1));
      const free = this.priorBeta.map((_, k) => (fixed[k] === undefined ? 1 : 0));
      const unseen = this.notSeen(whole(factors.map((factor) => (factor > 0 ? 1 : 0))), free);
      const shown = free.map((yes, k) => (yes && !unseen[k] ? 1 : 0));
      const count = shown.reduce((sum, yes) => sum + yes, 0);
      if (samples * active <= count) throw new Error(`${samples * active} rows cannot determine ${count} parameters; select more joints or times.`);
      if (!count) throw new Error("All parameters are fixed; leave at least one free.");
      const values = this.priorBeta.map((value, k) => (unseen[k] ? value : fixed[k] ?? 0));
      const noise = (beta) => {
        const sigma = own.map((f) => Math.sqrt(squares(f, beta) / Math.max(samples - count / active, 1)));
        const floor = Math.max(1e-9 * Math.max(...sigma), LEAST);
        return sigma.map((s) => Math.max(s, floor));
      };
      let solution = this.solved(whole(factors), shown, values);
      let sigma = noise(solution.beta);
      let weight = factors;
      const looked = prior === null ? shown : free;
      for (let round = 0; round < this.data.rounds; round++) {
        weight = factors.map((factor, j) => factor / sigma[j]);
        solution = this.solved(this.rows(whole(weight), ridge, prior), looked, values);
        sigma = noise(solution.beta);
      }
      const { beta, R, columns } = solution;
      const variance = this.variances({ own, use, weight, sigma, R, columns, unseen, prior });
      const rms = (squared, rows) => squared.map((s) => (rows ? Math.sqrt(s / rows) : NaN));
      const apart = this.counts.reduce((sum, rows, w) => sum + (off.includes(w) ? rows : 0), 0);
      const out = this.data.joints.map((_, j) => off.reduce((sum, w) => sum + squares(this.blocks[w][j], beta), 0));
      return {
        beta,
        std: variance.map(Math.sqrt),
        sigma,
        residual: rms(own.map((f) => squares(f, beta)), samples),
        leftOut: rms(out, apart),
        prediction: this.unseen && rms(this.unseen.map((f) => squares(f, beta)), this.data.unseen.rows),
        condition: condition(R),
        unseen: Array.from(unseen, Boolean),
        shown: count,
        rows: samples * active,
        joints,
      };
    }

    // Free parameters that are not identifiable in addition to those before them, one at a time:
    // columns after a dependent one are tested without it.
    notSeen(rows, free) {
      const unseen = new Uint8Array(this.size);
      for (;;) {
        const columns = [...free.keys()].filter((k) => free[k] && !unseen[k]);
        const R = triangular(selected(rows, columns));
        const diagonal = (j) => (j < R.rows ? Math.abs(column(R, j)[j]) : 0);
        const dependent = columns.findIndex((k, j) => diagonal(j) <= SPAN * this.sizes[k]);
        if (dependent < 0) return unseen;
        unseen[columns[dependent]] = 1;
      }
    }

    // Additional rows: a ridge in units of the columns, and a prior.
    rows(data, ridge, prior) {
      const every = [...Array(this.size + 1).keys()];
      const blocks = [{ R: data, places: every, factor: 1 }];
      if (ridge) {
        const pull = matrix(this.size, this.size);
        for (let k = 0; k < this.size; k++) column(pull, k)[k] = Math.sqrt(ridge) * norm(column(data, k));
        blocks.push({ R: pull, places: every.slice(0, -1), factor: 1 });
      }
      if (prior !== null) {
        const known = matrix(this.size, this.size + 1);
        known.at.set(this.root.at);
        const right = column(known, this.size);
        for (let k = 0; k < this.size; k++)
          for (let i = 0; i < this.size; i++) right[i] += column(this.root, k)[i] * this.priorBeta[k];
        blocks.push({ R: known, places: every, factor: 1 / prior });
      }
      return blocks.length > 1 ? stacked(blocks, this.size + 1) : data;
    }

    // Least squares for the free parameters with values of the others.
    solved(rows, free, values) {
      const columns = [...free.keys()].filter((k) => free[k]);
      const A = selected(rows, [...columns, this.size]);
      const z = column(A, columns.length);
      free.forEach((yes, k) => {
        if (yes || !values[k]) return;
        const from = column(rows, k);
        for (let i = 0; i < z.length; i++) z[i] -= values[k] * from[i];
      });
      const whole = triangular(A);
      const solution = substituted(whole, column(whole, columns.length), columns.length);
      const beta = Float64Array.from(values);
      columns.forEach((k, j) => { beta[k] = solution[j]; });
      return { beta, R: square(whole, columns.length), columns };
    }

    // Variances: of white residuals, scaled as those of the fit of all rows, of a prior, and of
    // random effects. A fixed parameter has almost none, an unidentifiable one that of the nominal.
    variances({ own, use, weight, sigma, R, columns, unseen, prior }) {
      const { color, priorStd, std } = this.data;
      const variance = this.priorBeta.map((_, k) => (unseen[k] ? priorStd[k] ** 2 : (FIXED_STD * std[k]) ** 2));
      const size = columns.length;
      const A = normal(inverse(R));
      const where = new Map(columns.map((k, j) => [k, j]));
      const white = new Float64Array(size);
      own.forEach(({ R: factor, places }, j) => addSquares(white, factor, places.slice(0, -1), where, A, weight[j] ** 2 * sigma[j]));
      columns.forEach((k, j) => { variance[k] = white[j] * color[k] ** 2; });
      const more = new Float64Array(size);
      if (prior !== null) addSquares(more, this.root, [...this.priorBeta.keys()], where, A, 1 / prior);
      if (this.random) this.addRandom(more, use, weight, where, A);
      columns.forEach((k, j) => { variance[k] += more[j]; });
      return variance;
    }

    addRandom(sum, use, weight, where, A) {
      const cross = matrix(A.rows, this.data.random.count);
      for (const w of use)
        this.random[w].forEach(({ products, effects }, j) => {
          effects.forEach((effect, e) => {
            this.data.columns[j].forEach((k, i) => {
              if (where.has(k)) column(cross, effect)[where.get(k)] += weight[j] ** 2 * column(products, e)[i];
            });
          });
        });
      for (let e = 0; e < cross.columns; e++)
        for (let k = 0; k < A.columns; k++) sum[k] += dot(column(A, k), column(cross, e)) ** 2;
    }
  }

  function square(R, size) {
    const part = matrix(size, size);
    for (let j = 0; j < size; j++) column(part, j).set(column(R, j).subarray(0, Math.min(j + 1, size)));
    return part;
  }

  // Adds the squared columns of factor * rows * A; `places` says what the columns of the rows are.
  function addSquares(sum, rows, places, where, A, factor) {
    const line = new Float64Array(rows.rows);
    const own = places.map((k, j) => [j * rows.rows, where.get(k)]).filter(([, row]) => row !== undefined);
    const from = rows.at;
    for (let k = 0; k < A.columns; k++) {
      line.fill(0);
      for (const [first, row] of own) {
        const value = A.at[k * A.rows + row];
        for (let i = 0; i < line.length; i++) line[i] += value * from[first + i];
      }
      sum[k] += factor ** 2 * dot(line, line);
    }
  }

  return { Model };
})();
