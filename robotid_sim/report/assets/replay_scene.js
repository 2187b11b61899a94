"use strict";
/** Draws arms, their shadow, the floor and paths by WebGL 2. */
class ReplayScene {
  static KEY = [0.32, -0.46, 0.83]; // direction of the light

  static SHADERS = {
    body: [`
      layout(location = 0) in vec3 place;
      layout(location = 1) in vec3 direction;
      uniform mat4 view, pose;
      uniform vec3 low, grain, eye;
      uniform float back;
      out vec3 normal, world;
      void main() {
        vec4 at = pose * vec4(low + grain * place, 1.0);
        at.xyz += back * (at.xyz - eye);
        world = at.xyz;
        normal = mat3(pose) * direction;
        gl_Position = view * at;
      }`, `
      in vec3 normal, world;
      uniform vec3 eye, light;
      uniform vec4 color;
      out vec4 shade;
      void main() {
        vec3 v = normalize(eye - world), n = normalize(normal);
        if (dot(n, v) < 0.0) n = -n;
        float key = max(dot(n, light), 0.0), fill = max(dot(n, normalize(vec3(-light.xy, 0.25))), 0.0);
        float gloss = pow(max(dot(n, normalize(light + v)), 0.0), 36.0);
        vec3 lit = color.rgb * (0.40 + 0.16 * n.z + 0.46 * key + 0.14 * fill) + 0.14 * gloss;
        shade = vec4(lit * color.a, color.a);
      }`],
    shadow: [`
      layout(location = 0) in vec3 place;
      uniform mat4 view, pose;
      uniform vec3 low, grain, light;
      uniform float ground;
      void main() {
        vec3 at = (pose * vec4(low + grain * place, 1.0)).xyz;
        at -= light * (max(at.z - ground, 0.0) / light.z);
        gl_Position = view * vec4(at.xy, ground, 1.0);
      }`, `
      uniform vec4 color;
      out vec4 shade;
      void main() { shade = color; }`],
    grid: [`
      layout(location = 0) in vec3 place;
      uniform mat4 view;
      out vec3 world;
      void main() { world = place; gl_Position = view * vec4(place, 1.0); }`, `
      in vec3 world;
      uniform vec4 color;
      uniform vec3 middle;
      uniform float radius;
      out vec4 shade;
      void main() {
        float seen = 1.0 - smoothstep(0.25 * radius, radius, distance(world.xy, middle.xy));
        shade = color * seen;
      }`],
    path: [`
      layout(location = 0) in vec3 start;
      layout(location = 1) in vec3 end;
      uniform mat4 view;
      uniform vec2 size;
      uniform float width;
      uniform int now;
      out float seen;
      void main() {
        vec4 p = view * vec4(start, 1.0), q = view * vec4(end, 1.0);
        vec2 along = (q.xy / q.w - p.xy / p.w) * size;
        along /= max(length(along), 1e-6);
        int corner = gl_VertexID % 6; // of two triangles
        vec4 at = corner < 2 || corner == 3 ? p : q;
        float side = corner == 0 || corner == 3 || corner == 5 ? width : -width;
        at.xy += side * vec2(-along.y, along.x) / size * at.w;
        gl_Position = at;
        seen = gl_VertexID / 6 < now ? 1.0 : 0.3;
      }`, `
      in float seen;
      uniform vec4 color;
      out vec4 shade;
      void main() { shade = color * seen; }`],
  };

  /** Throws if there is no WebGL 2; the coarse meshes are those of ghosts and of the shadow. */
  constructor(canvas, meshes, coarse) {
    this.software = ReplayScene.isSoftware(); // smooth edges would take most of the time
    const options = { alpha: true, stencil: true, premultipliedAlpha: true, antialias: !this.software };
    this.gl = canvas.getContext("webgl2", options);
    if (!this.gl) throw new Error("no WebGL 2");
    this.canvas = canvas;
    this.programs = Object.fromEntries(
      Object.entries(ReplayScene.SHADERS).map(([name, texts]) => [name, this.#program(...texts)]));
    [this.meshes, this.coarse] = [meshes, coarse].map((level) => level.map((mesh) => this.#uploaded(mesh)));
    const length = Math.hypot(...ReplayScene.KEY);
    this.light = ReplayScene.KEY.map((value) => value / length);
    [this.paths, this.marks] = [[], []];
  }

  /** Whether the browser draws on the processor. */
  static isSoftware() {
    const gl = document.createElement("canvas").getContext("webgl2");
    const names = gl?.getExtension("WEBGL_debug_renderer_info");
    const name = gl?.getParameter(names ? names.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
    gl?.getExtension("WEBGL_lose_context")?.loseContext();
    return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
  }

  #program(vertex, fragment) {
    const gl = this.gl, program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, `#version 300 es\nprecision highp float;\n${text}`);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(program));
    const names = new Map();
    const set = (name) => {
      if (!names.has(name)) names.set(name, gl.getUniformLocation(program, name));
      return names.get(name);
    };
    return { program, set };
  }

  #uploaded(mesh) {
    const gl = this.gl, array = gl.createVertexArray();
    gl.bindVertexArray(array);
    this.#attribute(0, mesh.vertices, 3, gl.UNSIGNED_SHORT, false);
    this.#attribute(1, ReplayScene.normals(mesh), 4, gl.BYTE, true);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, mesh.faces, gl.STATIC_DRAW);
    const kind = mesh.faces instanceof Uint32Array ? gl.UNSIGNED_INT : gl.UNSIGNED_SHORT;
    return { ...mesh, array, count: mesh.faces.length, kind };
  }

  #attribute(at, values, size, kind, normalized) {
    const gl = this.gl;
    gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, size, kind, normalized, 0, 0);
  }

  /** Normals of vertices by the areas of their triangles; four bytes each. */
  static normals({ vertices, faces, step }) {
    const sum = new Float32Array(vertices.length), normals = new Int8Array(4 * vertices.length / 3);
    const at = (k, i) => vertices[3 * k + i] * step[i];
    for (let f = 0; f < faces.length; f += 3) {
      const [a, b, c] = [faces[f], faces[f + 1], faces[f + 2]];
      const [ux, uy, uz] = [0, 1, 2].map((i) => at(b, i) - at(a, i));
      const [vx, vy, vz] = [0, 1, 2].map((i) => at(c, i) - at(a, i));
      const n = [uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx];
      for (const k of [a, b, c]) for (let i = 0; i < 3; i++) sum[3 * k + i] += n[i];
    }
    for (let k = 0; k < vertices.length / 3; k++) {
      const size = Math.hypot(sum[3 * k], sum[3 * k + 1], sum[3 * k + 2]) || 1;
      for (let i = 0; i < 3; i++) normals[4 * k + i] = Math.round(127 * sum[3 * k + i] / size);
    }
    return normals;
  }

  /** Lay the floor at a height, about a point, as far as a radius. */
  layFloor(height, middle, radius) {
    const gl = this.gl, decade = 10 ** Math.floor(Math.log10(radius / 8));
    const spacing = decade * [5, 2, 1].find((digit) => digit * decade <= radius / 8);
    const count = Math.ceil(radius / spacing), lines = [];
    const [x, y] = middle.map((value) => spacing * Math.round(value / spacing));
    for (let k = -count; k <= count; k++) {
      const d = k * spacing, far = count * spacing;
      lines.push(x + d, y - far, height, x + d, y + far, height, x - far, y + d, height, x + far, y + d, height);
    }
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    this.#attribute(0, new Float32Array(lines), 3, gl.FLOAT, false);
    this.floor = { height, middle: [x, y, height], radius, array, count: lines.length / 3 };
  }

  /** Show paths: points of three numbers one after the other, and a color. */
  setPaths(paths) {
    this.paths = this.#lines(paths, this.paths);
  }

  /** Show lines that move with the arm, such as frames, as paths are given. */
  setMarks(marks) {
    this.marks = this.#lines(marks, this.marks);
  }

  #lines(paths, before) {
    const gl = this.gl;
    for (const path of before) { gl.deleteVertexArray(path.array); gl.deleteBuffer(path.buffer); }
    return paths.map(({ points, ...look }) => {
      // Six vertices a segment: in software, instances are drawn one by one.
      const segments = Math.max(0, points.length / 3 - 1), corners = new Float32Array(36 * segments);
      for (let k = 0; k < segments; k++)
        for (let corner = 0; corner < 6; corner++) corners.set(points.subarray(3 * k, 3 * k + 6), 36 * k + 6 * corner);
      const array = gl.createVertexArray(), buffer = gl.createBuffer();
      gl.bindVertexArray(array);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, corners, gl.STATIC_DRAW);
      for (const at of [0, 1]) {
        gl.enableVertexAttribArray(at);
        gl.vertexAttribPointer(at, 3, gl.FLOAT, false, 24, 12 * at);
      }
      return { ...look, array, buffer, count: 6 * segments };
    });
  }

  /** Draw arms, of which the first is solid: poses, and a color for every mesh. */
  draw(camera, arms, now, theme, pixels, moves) {
    const gl = this.gl, view = camera.matrix, ghosts = arms.slice(1);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.depthFunc(gl.LEQUAL);
    if (camera.eye[2] > this.floor.height) this.#drawFloor(view, theme, arms[0]);
    const meshes = this.software && moves ? this.coarse : this.meshes;
    this.#drawBodies(view, camera.eye, meshes, arms[0], 1, 0);
    this.#drawLines(view, this.paths, now, pixels);
    gl.disable(gl.DEPTH_TEST); // frames and ellipsoids lie inside of links
    this.#drawLines(view, this.marks, 2 ** 30, pixels);
    gl.enable(gl.DEPTH_TEST);
    ghosts.forEach((arm, k) => {
      const back = 0.003 * (ghosts.length - k); // where arms coincide the first is seen, then the last
      if (!this.software) {
        gl.colorMask(false, false, false, false); // depth first: the inside of a ghost is not seen
        this.#drawBodies(view, camera.eye, this.coarse, arm, 1, back);
        gl.colorMask(true, true, true, true);
      }
      this.#drawBodies(view, camera.eye, this.coarse, arm, 0.55, back);
    });
  }

  #drawFloor(view, theme, arm) {
    const gl = this.gl, { height, middle, radius, array, count } = this.floor;
    const grid = this.programs.grid;
    gl.depthMask(false);
    gl.useProgram(grid.program);
    gl.uniformMatrix4fv(grid.set("view"), false, view);
    gl.uniform4fv(grid.set("color"), theme.grid);
    gl.uniform3fv(grid.set("middle"), middle);
    gl.uniform1f(grid.set("radius"), radius);
    gl.bindVertexArray(array);
    gl.drawArrays(gl.LINES, 0, count);
    const shadow = this.programs.shadow;
    gl.useProgram(shadow.program);
    gl.uniformMatrix4fv(shadow.set("view"), false, view);
    gl.uniform3fv(shadow.set("light"), this.light);
    gl.uniform1f(shadow.set("ground"), height);
    gl.uniform4fv(shadow.set("color"), theme.shadow);
    gl.enable(gl.STENCIL_TEST); // every pixel once
    gl.stencilFunc(gl.EQUAL, 0, 255);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    for (const mesh of this.coarse) this.#drawMesh(shadow, mesh, arm.poses);
    gl.disable(gl.STENCIL_TEST);
    gl.depthMask(true);
  }

  #drawBodies(view, eye, meshes, arm, alpha, back) {
    const gl = this.gl, body = this.programs.body;
    gl.useProgram(body.program);
    gl.uniformMatrix4fv(body.set("view"), false, view);
    gl.uniform3fv(body.set("eye"), eye);
    gl.uniform3fv(body.set("light"), this.light);
    gl.uniform1f(body.set("back"), back);
    meshes.forEach((mesh, k) => {
      const clear = mesh.alpha < 1; // what is translucent hides nothing
      if (clear) { gl.depthMask(false); gl.enable(gl.CULL_FACE); }
      gl.uniform4f(body.set("color"), ...arm.colors[k].map((value) => value / 255), alpha * (clear ? Math.max(mesh.alpha, 0.35) : 1));
      this.#drawMesh(body, mesh, arm.poses);
      if (clear) { gl.depthMask(true); gl.disable(gl.CULL_FACE); }
    });
  }

  #drawMesh(program, mesh, poses) {
    const gl = this.gl;
    gl.uniformMatrix4fv(program.set("pose"), false, poses[mesh.body + 1]);
    gl.uniform3fv(program.set("low"), mesh.low);
    gl.uniform3fv(program.set("grain"), mesh.step);
    gl.bindVertexArray(mesh.array);
    gl.drawElements(gl.TRIANGLES, mesh.count, mesh.kind, 0);
  }

  #drawLines(view, lines, now, pixels) {
    const gl = this.gl, path = this.programs.path;
    gl.useProgram(path.program);
    gl.uniformMatrix4fv(path.set("view"), false, view);
    gl.uniform2f(path.set("size"), this.canvas.width, this.canvas.height);
    gl.uniform1i(path.set("now"), now);
    gl.depthMask(false);
    for (const line of lines) {
      gl.uniform1f(path.set("width"), line.width * pixels);
      gl.uniform4fv(path.set("color"), line.color);
      gl.bindVertexArray(line.array);
      gl.drawArrays(gl.TRIANGLES, 0, line.count);
    }
    gl.depthMask(true);
  }
}
