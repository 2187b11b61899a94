"use strict";
// Matrices are column by column, as WebGL takes them.

/** Return the product a b. */
function matrixProduct(a, b) {
  const c = new Float32Array(16);
  for (let j = 0; j < 4; j++)
    for (let i = 0; i < 4; i++) {
      let sum = 0;
      for (let k = 0; k < 4; k++) sum += a[4 * k + i] * b[4 * j + k];
      c[4 * j + i] = sum;
    }
  return c;
}

/** A camera that turns about a target; yaw and pitch in degrees, as the viewer counts them. */
class OrbitCamera {
  static TAN = Math.tan((32 / 2) * Math.PI / 180); // of half the vertical field of view

  constructor([yaw, pitch], points) {
    Object.assign(this, { home: [yaw, pitch], points, aspect: 1, touched: false });
    this.reset();
  }

  /** Right, up and backward. */
  get axes() {
    const [y, a] = [this.yaw, this.pitch + 90].map((angle) => angle * Math.PI / 180);
    const [c, s, ca, sa] = [Math.cos(y), Math.sin(y), Math.cos(a), Math.sin(a)];
    return [[c, s, 0], [-s * ca, c * ca, sa], [s * sa, -c * sa, ca]];
  }

  get eye() {
    const back = this.axes[2];
    return this.target.map((value, i) => value + this.distance * back[i]);
  }

  reset() {
    [this.yaw, this.pitch] = this.home;
    this.touched = false;
    this.fit();
  }

  /** Take the nearest eye that sees all points, in the middle where there is room. */
  fit() {
    const axes = this.axes, dot = (p, a) => p[0] * a[0] + p[1] * a[1] + p[2] * a[2];
    const free = 0.86, tan = [OrbitCamera.TAN * this.aspect * free, OrbitCamera.TAN * free];
    const low = [-Infinity, -Infinity], high = [-Infinity, -Infinity];
    let mean = 0;
    for (const p of this.points) {
      const depth = -dot(p, axes[2]);
      mean += depth / this.points.length;
      for (const k of [0, 1]) {
        const lateral = dot(p, axes[k]);
        low[k] = Math.max(low[k], -lateral - tan[k] * depth);
        high[k] = Math.max(high[k], lateral - tan[k] * depth);
      }
    }
    const depth = Math.min(...[0, 1].map((k) => -(low[k] + high[k]) / (2 * tan[k])));
    const middle = [0, 1].map((k) => 0.5 * (high[k] - low[k]));
    this.distance = this.reach = mean - depth;
    this.target = [0, 1, 2].map((i) => middle[0] * axes[0][i] + middle[1] * axes[1][i] - mean * axes[2][i]);
  }

  /** See these points, unless the reader has chosen where to look from. */
  show(points) {
    this.points = points;
    if (!this.touched) this.fit();
  }

  resize(aspect) {
    this.aspect = aspect;
    if (!this.touched) this.fit();
  }

  turn(dx, dy) {
    this.yaw -= dx;
    this.pitch = Math.max(-89, Math.min(20, this.pitch - dy));
    this.touched = true;
  }

  /** Move by a part of the picture's height. */
  move(dx, dy) {
    const step = 2 * OrbitCamera.TAN * this.distance, [right, up] = this.axes;
    this.target = this.target.map((value, i) => value - step * (dx * right[i] - dy * up[i]));
    this.touched = true;
  }

  zoom(factor) {
    this.distance = Math.max(0.15 * this.reach, Math.min(6 * this.reach, this.distance * factor));
    this.touched = true;
  }

  /** From the root frame to clip space. */
  get matrix() {
    const [x, y, z] = this.axes, eye = this.eye, near = 0.02 * this.distance, far = 30 * this.reach + this.distance;
    const at = [x, y, z].map((a) => -(a[0] * eye[0] + a[1] * eye[1] + a[2] * eye[2]));
    const view = [x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, ...at, 1];
    const scale = 1 / OrbitCamera.TAN;
    const lens = [scale / this.aspect, 0, 0, 0, 0, scale, 0, 0,
      0, 0, -(far + near) / (far - near), -1, 0, 0, (-2 * far * near) / (far - near), 0];
    return matrixProduct(lens, view);
  }
}
