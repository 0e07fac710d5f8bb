// Any two pictures of a sample, large: side by side, under a slider, as their difference, or one in place of the other.
// Zoom and position are the same for both, to the pixel.
const stage = document.getElementById('stage');
const gain = document.getElementById('gain');
const zoomShown = document.getElementById('zoom-shown');
const look = { zoom: null, x: 0.5, y: 0.5, slide: 50 }; // screen pixels per picture pixel (null: fit); middle; slider
const CALLED = { source: "Source", reference: "Reference", mask: "Mask" };
const MOST = 32;
const STEP = 1.25;
const PAN = 60; // pixels that a key moves
const NEAR_HANDLE = 24;

// Every picture of a sample with its name in an address: {name, picture, edit}.
function picturesOf(sample) {
  return [
    { name: 'source', picture: sample.source },
    ...Object.entries(sample.others || {}).map(([name, picture]) => ({ name, picture })),
    ...sample.edits.map((edit) => ({ name: pictureName(sample, edit), picture: edit.picture, edit })),
  ];
}

function pictureName(sample, edit) {
  const several = sample.edits.filter((one) => one.model === edit.model).length > 1;
  return several ? `edit:${edit.model}:${edit.edit_seed}` : `edit:${edit.model}`;
}

// The picture of that name; without a number, the first of a model's edits. Null if there is none.
function pictureNamed(sample, name) {
  const all = picturesOf(sample);
  return all.find((one) => one.name === name) || all.find(({ edit }) => edit && name === `edit:${edit.model}`)
    || all.find(({ edit }) => edit && name === `edit:${edit.model}:${edit.edit_seed}`) || null;
}

function labelOf(sample, name) {
  const found = pictureNamed(sample, name);
  if (found && found.edit) {
    const { edit } = found;
    const several = sample.edits.filter((one) => one.model === edit.model).length > 1;
    return several ? sentence("{} · {}", [edit.model, sentence("seed {}", [edit.seed])]) : itself(edit.model);
  }
  const [kind, number] = name.split(':');
  if (kind === 'source' && number) return sentence("Source {}", [number]);
  return Object.hasOwn(CALLED, kind) ? sentence(CALLED[kind]) : itself(name);
}

// Why there is nothing to show; null if there is something.
function nothingOf(one) {
  if (!one) return ["This sample has no such picture.", '', ''];
  if (one.edit && one.edit.status !== 'ok') return [MISSING.no_edit, one.edit.status, one.edit.reason];
  return whyMissing(one.picture) ? [whyMissing(one.picture), '', ''] : null;
}

function altOf(sample, name, one) {
  if (one.edit) return ["Edit of {} by {}", [sample.id, one.edit.model]];
  return name === 'source' ? ["Source image of {}", [sample.id]] : ["{}, {}", [labelOf(sample, name), sample.id]];
}

// Fills the stage; returns the way in which the two are shown, null if they cannot be compared.
function showStage({ sample, left, right, way }) {
  const names = [left, right];
  const found = names.map((name) => pictureNamed(sample, name));
  const nothing = found.map(nothingOf);
  const layered = !nothing.some(Boolean);
  const used = layered ? way : 'beside';
  // What is already on the stage stays, so that a new score does not make pictures flicker.
  const drawn = JSON.stringify([sample.id, names, used, found.map((one) => one && [one.picture, one.edit && one.edit.status])]);
  if (drawn === stage.drawn) {
    arrange();
    return layered ? used : null;
  }
  stage.drawn = drawn;
  stage.dataset.way = used;
  stage.style.setProperty('--shape', shapeOf(sample) || 1.333);
  for (const side of ['left', 'right']) document.getElementById(`size-${side}`).replaceChildren();
  const pictures = found.map((one, place) => {
    if (nothing[place]) return placeholder(...nothing[place]);
    const side = place ? 'right' : 'left';
    const [key, values] = altOf(sample, names[place], one);
    const shown = image(one.picture, key, values, (whole) => { shown.dataset.whole = whole; arrange(); });
    if (!one.picture.file) shown.dataset.whole = false;
    shown.dataset.width = one.edit ? one.edit.width || 0 : 0;
    shown.dataset.height = one.edit ? one.edit.height || 0 : 0;
    shown.dataset.side = side;
    shown.addEventListener('load', arrange);
    return shown;
  });
  if (used === 'beside') {
    stage.replaceChildren(...pictures.map((one) => (one.matches('.frame') ? one : make('div', { class: 'frame' }, one))));
  } else {
    const frame = make('div', { class: `frame layered ${used}` }, pictures[0], make('div', { class: 'over' }, pictures[1]));
    if (used === 'difference') {
      const difference = labelled('alt', "Difference of {} and {}, {}", [labelOf(sample, left), labelOf(sample, right), sample.id]);
      pictures[0].alt = '';
      pictures[0].removeAttribute('data-words-alt');
      for (const [name, said] of Object.entries(difference)) pictures[1].setAttribute(name, said);
    }
    if (used === 'slider') frame.append(make('span', { class: 'handle', 'aria-hidden': 'true' }), slider());
    stage.replaceChildren(frame);
  }
  gain.hidden = used !== 'difference';
  arrange();
  return layered ? used : null;
}

// For the keyboard and screen readers; a pointer drags the picture itself.
function slider() {
  const made = make('input', {
    type: 'range', min: 0, max: 100, step: 0.5, value: look.slide, class: 'slider',
    ...labelled('label', "Slide between the two pictures"),
  });
  made.addEventListener('input', () => { look.slide = Number(made.value); arrange(); });
  return made;
}

// The size of the larger picture: the other one is scaled to cover it.
function worldSize() {
  const sizes = [...stage.querySelectorAll('img')].map((one) => [
    Math.max(one.naturalWidth, Number(one.dataset.width)), Math.max(one.naturalHeight, Number(one.dataset.height))]);
  return sizes.reduce((most, one) => (one[0] * one[1] > most[0] * most[1] ? one : most), [0, 0]);
}

// {width, height} of a frame, `fit`, `scale` (both in CSS pixels per picture pixel), and the picture's position in it.
function geometry() {
  const frame = stage.querySelector('.frame:not(.missing)');
  const [w, h] = worldSize();
  if (!frame || !w) return null;
  const { clientWidth: width, clientHeight: height } = frame;
  const fit = Math.min(width / w, height / h);
  const scale = look.zoom === null ? fit : look.zoom / devicePixelRatio;
  const along = (room, size, middle) => (size <= room ? (room - size) / 2 : Math.min(0, Math.max(room - size, room / 2 - middle * size)));
  return { width, height, w: w * scale, h: h * scale, fit, scale, x: along(width, w * scale, look.x), y: along(height, h * scale, look.y) };
}

function arrange() {
  const at = geometry();
  stage.classList.toggle('enlarged', look.zoom !== null);
  for (const side of ['left', 'right']) sayPictureSize(side);
  if (!at) return;
  if (look.zoom !== null) { // only remember points that can be in the middle
    look.x = at.w > at.width ? (at.width / 2 - at.x) / at.w : 0.5;
    look.y = at.h > at.height ? (at.height / 2 - at.y) / at.h : 0.5;
  }
  const zoom = at.scale * devicePixelRatio;
  stage.classList.toggle('pixels', zoom >= 2);
  for (const one of stage.querySelectorAll('img')) {
    Object.assign(one.style, { width: `${at.w}px`, height: `${at.h}px`, transform: `translate(${at.x}px, ${at.y}px)` });
  }
  const from = Math.max(0, at.x);
  stage.style.setProperty('--position', `${from + (look.slide / 100) * (Math.min(at.width, at.x + at.w) - from)}px`);
  zoomShown.replaceChildren(`${Math.round(zoom * 100)} %`);
  document.getElementById('zoom-fit').setAttribute('aria-pressed', String(look.zoom === null));
  document.getElementById('zoom-actual').setAttribute('aria-pressed', String(look.zoom === 1));
}

// Says what is shown: the picture itself, or the smaller copy in the page.
function sayPictureSize(side) {
  const one = stage.querySelector(`img[data-side=${side}]`);
  const place = document.getElementById(`size-${side}`);
  if (!one || !one.naturalWidth) return;
  const smaller = Number(one.dataset.width) > one.naturalWidth;
  const said = one.dataset.whole === 'true' ? "{} × {}" : one.dataset.whole !== 'false' ? "{} × {}, loading …"
    : smaller ? "smaller copy, {} × {} of {} × {}" : "smaller copy, {} × {}";
  const values = [one.naturalWidth, one.naturalHeight, one.dataset.width, one.dataset.height];
  if (place.dataset.said === said + JSON.stringify(values) && place.hasChildNodes()) return;
  place.dataset.said = said + JSON.stringify(values);
  place.replaceChildren(say('span', said, values));
}

// -- zooming and panning --

function moved() {
  arrange();
  writeAddressSoon();
}

// Zooms by a factor; the point of the picture at (x, y) of its frame stays there.
function zoomBy(factor, x = null, y = null) {
  const at = geometry();
  if (!at) return;
  const [px, py] = [x ?? at.width / 2, y ?? at.height / 2];
  const least = Math.min(at.fit, 1 / devicePixelRatio);
  const scale = Math.min(MOST, Math.max(least, at.scale * factor));
  const passed = (at.scale - at.fit) * (scale - at.fit) <= 0 && Math.abs(at.scale - at.fit) > 1e-9; // back to the whole picture
  const [u, v] = [(px - at.x) / at.w, (py - at.y) / at.h];
  const grown = scale / at.scale;
  look.zoom = passed || Math.abs(scale - at.fit) < 1e-9 ? null : scale * devicePixelRatio;
  look.x = u + (at.width / 2 - px) / (at.w * grown);
  look.y = v + (at.height / 2 - py) / (at.h * grown);
  moved();
}

function zoomTo(zoom) {
  const at = geometry();
  if (zoom !== null && at) zoomBy(zoom / devicePixelRatio / at.scale);
  look.zoom = zoom;
  if (zoom === null) Object.assign(look, { x: 0.5, y: 0.5 });
  moved();
}

function panBy(dx, dy) {
  const at = geometry();
  if (!at || look.zoom === null) return;
  look.x -= dx / at.w;
  look.y -= dy / at.h;
  moved();
}

function slideTo(x) {
  const at = geometry();
  const from = Math.max(0, at.x);
  look.slide = Math.min(100, Math.max(0, (100 * (x - from)) / (Math.min(at.width, at.x + at.w) - from)));
  const input = stage.querySelector('.slider');
  if (input) input.value = look.slide;
  arrange();
}

// Shows the other picture in place of the visible one.
function flip(on) {
  detail.classList.toggle('flipped', on);
  document.getElementById('flip').setAttribute('aria-pressed', String(on));
}

function placeIn(frame, event) {
  const box = frame.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

const held = new Map(); // pointers on the stage and their positions
let grip = null; // the action of a single pointer: 'slide', 'pan' or 'flip'

function onPress(event) {
  const frame = event.target.closest('.frame:not(.missing)');
  if (!frame || event.button) return;
  const [x] = placeIn(frame, event);
  frame.setPointerCapture(event.pointerId);
  held.set(event.pointerId, { x: event.clientX, y: event.clientY, frame });
  const handle = Math.abs(x - Number.parseFloat(stage.style.getPropertyValue('--position'))) < NEAR_HANDLE;
  const { way } = stage.dataset;
  grip = held.size > 1 ? null : way === 'slider' && (look.zoom === null || handle) ? 'slide' : look.zoom !== null ? 'pan' : way === 'flip' ? 'flip' : null;
  if (grip === 'slide') slideTo(x);
  if (grip === 'flip') flip(true);
}

function onMove(event) {
  const before = held.get(event.pointerId);
  if (!before) return;
  const [dx, dy] = [event.clientX - before.x, event.clientY - before.y];
  const apart = () => {
    const [one, other] = [...held.values()];
    return Math.hypot(one.x - other.x, one.y - other.y);
  };
  const far = held.size === 2 ? apart() : 0;
  Object.assign(before, { x: event.clientX, y: event.clientY });
  if (held.size === 2) {
    const [one, other] = [...held.values()];
    const box = before.frame.getBoundingClientRect();
    if (far > 0) zoomBy(apart() / far, (one.x + other.x) / 2 - box.left, (one.y + other.y) / 2 - box.top);
    panBy(dx / 2, dy / 2);
  } else if (grip === 'slide') slideTo(placeIn(before.frame, event)[0]);
  else if (grip === 'pan') panBy(dx, dy);
}

function onRelease(event) {
  if (!held.delete(event.pointerId)) return;
  if (grip === 'flip') flip(false);
  grip = held.size === 1 && look.zoom !== null ? 'pan' : null;
}

function startStage() {
  stage.addEventListener('wheel', (event) => {
    const frame = event.target.closest('.frame:not(.missing)');
    if (!frame) return;
    event.preventDefault();
    const turned = event.deltaY * (event.deltaMode ? 16 : 1);
    zoomBy(Math.exp(-turned * (event.ctrlKey ? 0.01 : 0.002)), ...placeIn(frame, event));
  }, { passive: false });
  stage.addEventListener('pointerdown', onPress);
  stage.addEventListener('pointermove', onMove);
  for (const end of ['pointerup', 'pointercancel']) stage.addEventListener(end, onRelease);
  stage.addEventListener('dblclick', (event) => {
    const frame = event.target.closest('.frame:not(.missing)');
    if (!frame) return;
    if (look.zoom !== null) zoomTo(null);
    else {
      zoomBy(1 / devicePixelRatio / geometry().scale, ...placeIn(frame, event));
      look.zoom = 1;
      moved();
    }
  });
  document.getElementById('zoom-in').addEventListener('click', () => zoomBy(STEP));
  document.getElementById('zoom-out').addEventListener('click', () => zoomBy(1 / STEP));
  document.getElementById('zoom-fit').addEventListener('click', () => zoomTo(null));
  document.getElementById('zoom-actual').addEventListener('click', () => zoomTo(1));
  document.getElementById('flip').addEventListener('click', () => flip(!detail.classList.contains('flipped')));
  gain.querySelector('input').addEventListener('input', (event) => stage.style.setProperty('--gain', event.target.value));
  addEventListener('blur', () => flip(false));
  new ResizeObserver(arrange).observe(stage);
}
