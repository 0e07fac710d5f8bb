// A run as it goes on: its server pushes what changes; nothing is asked for twice.
const strip = document.getElementById('live');
let lastState = data.live;
function countRow(key, count) {
  if (!count.total) return [];
  const said = [say('span', 'view.count', { done: count.settled, total: count.total })];
  if (count.failed) said.push(' · ', say('span', 'view.failed', { count: count.failed }, { class: 'problem' }));
  if (count.per_minute) said.push(' · ', say('span', 'view.per_minute', { rate: count.per_minute.toFixed(1) }));
  const failed = count.failed / count.total;
  return [say('span', key), bar([[count.settled / count.total - failed, ''], [failed, 'failed']]), make('span', {}, ...said)];
}

function deviceRow(one) {
  const doing = one.activity ? say('span', `view.activity.${one.activity}`) : say('span', 'view.idle', {}, { class: 'quiet' });
  const gpu = one.meter || {};
  const busy = gpu.busy === null || gpu.busy === undefined ? null : make('span', { class: 'quiet' }, `${Math.round(gpu.busy * 100)} %`);
  const made = make('div', { class: 'device' }, make('p', {},
    make('b', {}, one.device), doing, make('span', { class: 'about quiet', title: `${one.model} ${one.about}` }, [one.model, one.about].filter(Boolean).join(' · ')),
    one.figures ? make('span', {}, one.figures) : null,
    one.activity ? make('span', { class: 'quiet' }, timeWords(one.seconds)) : null, busy));
  if (one.fraction !== null && one.fraction !== undefined) made.append(bar([[one.fraction, '']]));
  return made;
}

function showState(state) {
  lastState = state;
  const { kind, live } = state;
  const stale = state.seen !== data.live.seen;
  strip.hidden = kind === 'complete' && !stale && !state.damage;
  const head = make('div', { class: 'live-head' },
    make('span', {}, make('span', { class: `dot ${kind}`, 'aria-hidden': 'true' }), say('strong', `view.${kind}`)));
  const parts = [head];
  if (live && ['working', 'silent'].includes(kind)) {
    head.append(say('span', 'view.since', { time: timeWords(live.seconds) }, { class: 'quiet' }),
      live.left === null ? say('span', 'view.left_unknown', {}, { class: 'quiet' }) : say('span', 'view.left', { time: timeWords(live.left) }, { class: 'quiet' }));
    parts.push(make('div', { class: 'bars' },
      ...countRow('view.edits', live.edits), ...countRow('view.judgements', live.judgements), ...countRow('view.controls', live.controls)));
    parts.push(make('div', { class: 'so-far' }, ...live.means.filter((mean) => mean.mean !== null).map((mean) => make('span', {},
      `${mean.edit_model} · ${mean.judge} `, make('b', {}, mean.mean.toFixed(mean.scale.digits)), ' ', say('span', 'view.scored', { scored: mean.scored }, { class: 'quiet' })))));
    parts.push(make('div', { class: 'devices' }, ...live.devices.map(deviceRow)));
  }
  if (kind === 'stopped') parts.push(say('p', 'view.stopped.how', {}, { class: 'explanation' }));
  for (const words of [state.reason, state.damage].filter(Boolean)) parts.push(make('p', { class: 'notice problem' }, words));
  if (stale) {
    const update = say('button', 'view.update', {}, { type: 'button', class: 'plain' });
    update.addEventListener('click', () => location.reload());
    parts.push(make('p', { class: 'quiet' }, say('span', 'view.tables'), ' ', update));
  }
  strip.replaceChildren(...parts);
}

// New pictures and scores: the card that shows them changes in its place, all others stay as they are.
function takeSamples(entries) {
  const places = new Map(data.samples.map((sample, place) => [sample.id, place]));
  const wanted = wantedNow();
  const inOrder = ['', 'benchmark'].includes(wanted.sort || '') && !wanted.status && !wanted.search && !wanted.differ && wanted.lowest === null && wanted.highest === null;
  for (const entry of entries) {
    const place = places.get(entry.id);
    if (place === undefined) continue;
    const before = data.samples[place];
    if (JSON.stringify(before) === JSON.stringify(entry)) continue;
    data.samples[place] = entry;
    searchable.delete(before);
    const at = chosen.findIndex((one) => one.sample === before);
    if (at >= 0) {
      chosen[at] = { sample: entry, ...chosenOf(entry, wanted) };
      const old = cards.children[at - pageNumber * CARDS_A_PAGE];
      if (old && old.classList.contains('card')) {
        const made = card(chosen[at], wanted);
        made.classList.add('fresh');
        old.replaceWith(made);
      }
    }
    if (shown.sample === before) {
      shown.sample = entry;
      if (detail.open) showDetail();
    }
  }
  const known = new Set([...filters.elements.status.options].map((one) => one.value));
  if (statusesOf(entries).some((status) => !known.has(status))) fillStatuses(statusesOf(data.samples));
  if (!inOrder && !detail.open) showChosen(pageNumber);
}

const seen = { value: data.live.seen };
if (strip) {
  document.querySelector('.masthead nav').prepend(say('a', 'view.runs', {}, { href: data.links.runs }));
  if (data.links.votes && data.edit_models.length > 1) {
    document.querySelector('.masthead nav').append(say('a', 'view.vote', {}, { href: data.links.votes }));
  }
  showState(data.live);
  follow(data.live.events, seen, {
    experiment: ({ experiment }) => { if (experiment && experiment !== data.live.experiment) location.reload(); },
    samples: takeSamples,
    state: (state) => { seen.value = state.seen; showState(state); },
  });
}
