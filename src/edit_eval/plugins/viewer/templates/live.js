// A run in progress: the server pushes its changes; nothing is requested twice.
const strip = document.getElementById('live');
let lastState = data.live;
const ACTIVITIES = {
  starting: "starting",
  loading: "loading",
  editing: "editing",
  judging: "judging",
  waiting: "waiting",
  unloading: "unloading",
  retired: "out of use",
};

function countRow(what, count) {
  if (!count.total) return [];
  const said = [say('span', "{} of {}", [count.settled, count.total])];
  if (count.failed) said.push(' · ', say('span', "{} failed", [count.failed], { class: 'problem' }));
  if (count.per_minute) said.push(' · ', say('span', "{} a minute", [count.per_minute.toFixed(1)]));
  const failed = count.failed / count.total;
  return [say('span', what), bar([[count.settled / count.total - failed, ''], [failed, 'failed']]), make('span', {}, ...said)];
}

function deviceRow(one) {
  const doing = one.activity ? say('span', ACTIVITIES[one.activity]) : say('span', "idle", [], { class: 'quiet' });
  const gpu = one.meter || {};
  const busy = gpu.busy === null || gpu.busy === undefined ? null : make('span', { class: 'quiet' }, `${Math.round(gpu.busy * 100)} %`);
  const made = make('div', { class: 'device' }, make('p', {},
    make('b', {}, one.device), doing, make('span', { class: 'about quiet', title: `${one.model} ${inLanguage(one.about)}` }, [one.model, inLanguage(one.about)].filter(Boolean).join(' · ')),
    inLanguage(one.figures) ? sayWords('span', one.figures) : null,
    one.activity && one.seconds ? make('span', { class: 'quiet' }, timeWords(one.seconds)) : null, busy));
  if (one.fraction !== null && one.fraction !== undefined) made.append(bar([[one.fraction, '']]));
  return made;
}

// A service: its pace, the outcomes of edits, its checks and alarms, and the newest edits.
function serviceParts(service) {
  const seconds = (value) => value === null ? '–' : value.toFixed(2);
  const number = (template, ...values) => say('span', template, values);
  const parts = [make('div', { class: 'so-far' },
    number("{} pairs a second", service.per_second.toFixed(1)), number("{} wait", service.waiting),
    number("half are answered within {} s, 99 of 100 within {} s", seconds(service.p50), seconds(service.p99)))];
  for (const [judge, statuses] of Object.entries(service.statuses)) {
    parts.push(make('div', { class: 'so-far' }, make('b', {}, judge), ...Object.entries(statuses).map(([status, count]) =>
      make('span', {}, sayStatus('span', status), ' ', make('b', {}, String(count))))));
  }
  const kinds = { source: "the unchanged source", blank: "a grey picture", shuffled: "another source's edit", right: "right edits", copy: "unchanged scenes" };
  const canaries = Object.entries(service.canaries);
  if (canaries.length || service.near_copies !== null) {
    parts.push(make('div', { class: 'so-far' }, say('b', "Canaries"), ...canaries.map(([kind, mean]) =>
      make('span', {}, say('span', kinds[kind] || kind), ' ', make('b', {}, mean.toFixed(2)))),
      service.near_copies === null ? null : say('span', "near-copies {} %", [(100 * service.near_copies).toFixed(0)])));
  }
  for (const line of service.alarms) parts.push(make('p', { class: 'notice problem' }, line));
  parts.push(make('div', { class: 'latest' }, ...service.latest.map((one) => make('figure', { title: one.reason || one.instruction },
    make('div', {}, ...[one.source, one.edit].filter(Boolean).map((url) => make('img', { src: url, alt: '' }))),
    make('figcaption', {}, one.score === null ? sayStatus('b', one.status, { class: 'problem' }) : make('b', {}, one.score.toFixed(2)), ' ', one.instruction)))));
  return parts;
}

function showState(state) {
  lastState = state;
  const { kind, live } = state;
  const stale = state.seen !== data.live.seen || Boolean(live && live.service && kind === 'working');
  strip.hidden = kind === 'complete' && !stale && !state.damage;
  const head = make('div', { class: 'live-head' },
    make('span', {}, make('span', { class: `dot ${kind}`, 'aria-hidden': 'true' }), say('strong', STATES[kind])));
  const parts = [head];
  if (live && ['working', 'silent'].includes(kind)) {
    head.append(say('span', "running for {}", [timeWords(live.seconds)], { class: 'quiet' }),
      live.service ? '' : live.left === null ? say('span', "time left unknown", [], { class: 'quiet' }) : say('span', "about {} left", [timeWords(live.left)], { class: 'quiet' }));
    if (!live.service) parts.push(make('div', { class: 'bars' },
      ...countRow("Edits", live.edits), ...countRow("Judgements", live.judgements), ...countRow("Controls", live.controls)));
    parts.push(make('div', { class: 'so-far' }, ...live.means.filter((mean) => mean.mean !== null).map((mean) => make('span', {},
      `${mean.edit_model} · ${mean.judge} `, make('b', {}, mean.mean.toFixed(mean.scale.digits)), ' ', say('span', "{} scored", [mean.scored], { class: 'quiet' })))));
    if (live.service) parts.push(...serviceParts(live.service));
    parts.push(make('div', { class: 'devices' }, ...live.devices.map(deviceRow)));
  }
  if (kind === 'stopped') parts.push(say('p', "Nothing is running here. All finished work is kept; rerun the same command to resume.", [], { class: 'explanation' }));
  for (const words of [state.reason, state.damage].filter(Boolean)) parts.push(make('p', { class: 'notice problem' }, words));
  if (stale) {
    const update = say('button', "Update them", [], { type: 'button', class: 'plain' });
    update.addEventListener('click', () => location.reload());
    parts.push(make('p', { class: 'quiet stale' }, say('span', "Tables and charts below are from when this page was opened."), ' ', update));
  }
  strip.replaceChildren(...parts);
}

// New pictures and scores: their card is updated in place, all others stay as they are.
function takeSamples(entries) {
  const places = new Map(data.samples.map((sample, place) => [sample.id, place]));
  const wanted = wantedNow();
  const inOrder = ['', 'benchmark'].includes(wanted.sort || '') && !wanted.status && !wanted.outcome && !wanted.search && !wanted.differ && !wanted.wrong && wanted.lowest === null && wanted.highest === null;
  for (const entry of entries) {
    const place = places.get(entry.id);
    if (place === undefined) continue;
    const before = data.samples[place];
    if (JSON.stringify(before) === JSON.stringify(entry)) continue;
    data.samples[place] = entry;
    searchable.delete(before);
    levels.clear();
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
  if (statusesOf(entries).some((status) => !known.has(status))) {
    fillStatuses(statusesOf(data.samples));
    fillChips();
  }
  if (!inOrder && !detail.open) showChosen(pageNumber);
}

const seen = { value: data.live.seen };
if (strip) {
  document.querySelector('.masthead nav').prepend(say('a', "Runs", [], { href: data.links.runs }));
  if (data.links.votes) {
    const vote = () => say('a', "Vote", [], { href: data.links.votes, class: 'primary' });
    document.querySelector('.masthead .preferences').before(vote());
    if (data.vote_first) {
      strip.after(make('section', { class: 'vote-first' },
        say('p', "Vote before you look: below, every picture bears the name of its model."), vote()));
    }
  }
  showState(data.live);
  follow(data.live.events, seen, {
    experiment: ({ experiment }) => { if (experiment && experiment !== data.live.experiment) location.reload(); },
    samples: takeSamples,
    state: (state) => { seen.value = state.seen; showState(state); },
  });
}
