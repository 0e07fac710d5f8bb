// Gets pairs from the server, and sends votes to it. The goal is the rater's own.
const usual = Number(recall('edit-eval-goal')) || 50;
const goal = make('input', { type: 'number', id: 'goal', min: 1, max: 9999, value: Math.min(usual, data.pairs || usual) });
goal.addEventListener('change', () => remember('edit-eval-goal', goal.value));
begin.lastChild.before(make('label', { for: 'goal' }, say('span', "How many votes you want to give; there are {} pairs", [data.pairs])), goal);
let settled = null; // number of pairs of models settled by the votes before this one

function told(answer) {
  const wanted = Math.min(Number(goal.value) || 50, answer.there);
  const more = [];
  if (answer.pairs === 1) more.push([answer.settled ? "All votes together show which of the two models people prefer." : "All votes together do not show yet which of the two models people prefer."]);
  if (answer.pairs > 1) more.push(["There are {} pairs of models; all votes together show which people prefer in {} of them.", [answer.pairs, answer.settled]]);
  if (settled !== null && answer.settled > settled) more.push(["Your vote decided it."]);
  if (settled !== null && answer.settled < settled) more.push(["Your vote made it open again."]);
  settled = answer.settled;
  const reached = answer.mine >= wanted;
  if (answer.mine === wanted && !answer.done) more.push(["You have reached your goal. Thank you. You can go on, or close the page."]);
  return {
    ...answer, more, near: answer.mine / wanted, done: answer.done && "You have seen all pairs. Thank you.", then: (answer.done || reached) && data.then,
    progress: ["Your votes: {} of {}. All votes: {} (raters: {}).", [answer.mine, wanted, answer.all, answer.raters]],
  };
}

async function send(address, options) {
  if (page.busy) return;
  page.busy = true;
  for (;;) {
    try {
      const answer = await fetch(address, options);
      sayLost(false);
      const said = await answer.json();
      page.busy = false;
      failed(said.error || '');
      if (!said.error) goOn(told(said));
      else if (options) {
        page.past.pop();
        if (answer.status === 409) ask(said.error);
      }
      return;
    } catch (error) {
      sayLost(true); // the vote is not lost: it is sent again until accepted
      await new Promise((done) => { setTimeout(done, 1000); });
    }
  }
}

async function ask(words = '') {
  await send(`/run/${data.run}/next?rater=${encodeURIComponent(page.rater)}`);
  if (words) failed(words);
}

function keep(choice, seconds) {
  const body = JSON.stringify({ ticket: page.task.ticket, rater: page.rater, choice, seconds });
  send(`/run/${data.run}/votes`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
}

beginBallot();
