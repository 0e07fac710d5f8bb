// A run that cannot be shown yet: says why, until it can.
function redrawCharts() {}
const main = document.getElementById('main');
const about = make('section', { class: 'wide' });
main.append(about);

function showState(state) {
  data.live = state;
  about.replaceChildren(make('h1', {}, data.name),
    make('p', {}, make('span', { class: `dot ${state.kind}`, 'aria-hidden': 'true' }), say('strong', STATES[state.kind])),
    state.reason ? make('p', { class: 'notice problem' }, state.reason) : '');
}

showState(data.live);
startPreferences();
document.getElementById('language').addEventListener('click', () => showState(data.live));
if (data.events) {
  follow(data.events, { value: '' }, {
    state: (state) => showState({ ...state, reason: state.reason || data.live.reason }),
    samples: (samples) => { if (data.live.kind === 'damaged' && samples.length) location.reload(); },
  });
}
