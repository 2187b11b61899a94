"use strict";
// What the page holds of a robot and its motions, and the kinematics of the kernels in Python.

function decoded(text, Kind) {
  if (typeof text !== "string") return text; // numbers that the page itself has read
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  return new Kind(bytes.buffer);
}

/** A robot: poses of its bodies, the base first, as matrices column by column. */
class ReplayRobot {
  constructor(data) {
    this.joints = data.joints;
    this.dof = data.joints.length;
    [this.tip, this.ellipsoids] = [data.tip, data.ellipsoids];
    [this.meshes, this.coarse] = [data.meshes, data.coarse ?? data.meshes].map((meshes) => meshes.map((mesh) => ({
      ...mesh, vertices: decoded(mesh.vertices, Uint16Array),
      faces: decoded(mesh.faces, mesh.wide ? Uint32Array : Uint16Array),
    })));
  }

  poses(q) {
    const poses = [[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]];
    this.joints.forEach(({ geometry: g }, j) => {
      const T = poses[j], slides = g[6] === 1, next = new Array(16).fill(0);
      const c = slides ? 1 : Math.cos(q[j]), s = slides ? 0 : Math.sin(q[j]), along = slides ? q[j] : 0;
      for (let i = 0; i < 3; i++) {
        for (let k = 0; k < 3; k++)
          for (let m = 0; m < 3; m++) {
            const at = 10 + 3 * m + k;
            next[4 * k + i] += T[4 * m + i] * (g[at] + c * g[at + 9] + s * g[at + 18]);
          }
        next[12 + i] = T[12 + i];
        for (let m = 0; m < 3; m++) next[12 + i] += T[4 * m + i] * (g[m] + along * g[7 + m]);
      }
      next[15] = 1;
      poses.push(next);
    });
    return poses;
  }

  /** Where a pose puts a point. */
  static placed(T, p) {
    return [0, 1, 2].map((i) => T[i] * p[0] + T[4 + i] * p[1] + T[8 + i] * p[2] + T[12 + i]);
  }

  tipOf(poses) {
    return ReplayRobot.placed(poses[this.dof], [this.tip[3], this.tip[7], this.tip[11]]);
  }

  /** The axes of the frames of joints and tip as pairs of points, those of x first. */
  framesOf(poses, length) {
    const tip = poses[this.dof], origin = this.tipOf(poses);
    const ends = [0, 1, 2].map((k) => [this.tip[k], this.tip[4 + k], this.tip[8 + k]].map((value, i, axis) =>
      tip[i] * axis[0] + tip[4 + i] * axis[1] + tip[8 + i] * axis[2]));
    const frames = [...poses.slice(1).map((T) => ({ at: T.slice(12, 15), axes: [0, 4, 8].map((k) => T.slice(k, k + 3)) })), { at: origin, axes: ends }];
    return [0, 1, 2].map((k) => frames.map(({ at, axes }) => [...at, ...at.map((value, i) => value + length * axes[k][i])]));
  }

  /** Three sections of the inertia ellipsoid of every body that has a mass, as chains of points. */
  sectionsOf(poses) {
    const turns = Array.from({ length: 41 }, (_, k) => (k * Math.PI) / 20);
    return this.ellipsoids.flatMap((ellipsoid, body) => !ellipsoid ? [] : [[0, 1], [1, 2], [2, 0]].map(([i, j]) =>
      turns.flatMap((turn) => ReplayRobot.placed(poses[body + 1], ellipsoid.center.map((value, k) =>
        value + Math.cos(turn) * ellipsoid.axes[i][k] + Math.sin(turn) * ellipsoid.axes[j][k])))));
  }

  /** Corners of the meshes that stand out, with the number of their body. */
  outermost() {
    const signs = [-1, 0, 1], directions = [];
    for (const x of signs) for (const y of signs) for (const z of signs) if (x || y || z) directions.push([x, y, z]);
    return this.meshes.flatMap(({ body, vertices, low, step }) => {
      const best = directions.map(() => [-Infinity, 0]);
      for (let k = 0; k < vertices.length; k += 3)
        directions.forEach((d, i) => {
          const value = d[0] * vertices[k] * step[0] + d[1] * vertices[k + 1] * step[1] + d[2] * vertices[k + 2] * step[2];
          if (value > best[i][0]) best[i] = [value, k];
        });
      return best.map(([, k]) => ({ body: body + 1, point: low.map((value, i) => value + step[i] * vertices[k + i]) }));
    });
  }
}

/** A motion: positions of its arms over time, and what joints are colored by. */
class ReplayMotion {
  static MOST = 1000; // points of a path

  constructor(data, robot) {
    Object.assign(this, { name: data.name, own: data.own, robot, magnification: data.magnification });
    this.t = decoded(data.t, Float64Array);
    this.q = decoded(data.q, Float32Array);
    this.beside = data.beside.map((arm) => ({ ...arm, difference: decoded(arm.difference, Float32Array) }));
    this.torque = data.torque && decoded(data.torque, Uint8Array);
    this.residual = data.residual && decoded(data.residual, Uint8Array);
    this.contact = data.contact && decoded(data.contact, Uint8Array);
    [this.start, this.end] = [this.t[0], this.t[this.t.length - 1]];
  }

  /** Number of the last sample up to a time, and how far it is to the next one, from 0 to 1. */
  at(t) {
    let low = 0, high = this.t.length - 1;
    if (t >= this.end) return [high - 1, 1];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.t[middle] <= t) low = middle; else high = middle;
    }
    return [low, Math.max(0, (t - this.t[low]) / (this.t[low + 1] - this.t[low]))];
  }

  #between(values, t) {
    const n = this.robot.dof, [k, share] = this.at(t);
    return Array.from({ length: n }, (_, j) => (1 - share) * values[n * k + j] + share * values[n * (k + 1) + j]);
  }

  position(t) {
    return this.#between(this.q, t);
  }

  /** Positions of all arms, the motion's own first. */
  positions(t, magnification) {
    const q = this.position(t);
    return [q, ...this.beside.map((arm) => this.#between(arm.difference, t).map((d, j) => q[j] + magnification * d))];
  }

  /** Tips of all arms at every sample, or at fewer than MOST, three numbers each. */
  paths(magnification) {
    const n = this.robot.dof, samples = this.t.length;
    this.stride = Math.ceil(samples / ReplayMotion.MOST);
    const count = Math.ceil(samples / this.stride);
    return [null, ...this.beside].map((arm) => {
      const points = new Float32Array(3 * count), q = new Array(n);
      for (let i = 0, k = 0; i < count; i++, k += this.stride) {
        for (let j = 0; j < n; j++) q[j] = this.q[n * k + j] + (arm ? magnification * arm.difference[n * k + j] : 0);
        points.set(this.robot.tipOf(this.robot.poses(q)), 3 * i);
      }
      return points;
    });
  }

  /** Shares of what joints are colored by, from 0 to 1; null if it is not known. */
  shares(quantity, t) {
    const joints = this.robot.joints;
    if (quantity === "position")
      return this.position(t).map((q, j) => Math.abs(2 * q - joints[j].lower - joints[j].upper) / (joints[j].upper - joints[j].lower));
    if (quantity === "velocity") {
      const n = this.robot.dof, [k] = this.at(t), dt = this.t[k + 1] - this.t[k];
      return joints.map((joint, j) => Math.abs(this.q[n * (k + 1) + j] - this.q[n * k + j]) / dt / joint.velocity);
    }
    const values = this[quantity];
    return values && this.#between(values, t).map((value) => value / 255);
  }
}
