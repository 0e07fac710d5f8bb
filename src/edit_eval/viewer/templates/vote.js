// Pairs from the server, and votes to it.
async function send(address, options) {
  if (page.busy) return;
  page.busy = true;
  for (;;) {
    try {
      const answer = await fetch(address, options);
      sayLost(false);
      const told = await answer.json();
      page.busy = false;
      failed(told.error || '');
      const { mine, all, raters } = told;
      if (!told.error) show({ ...told, done: told.done && "You have seen all pairs. Thank you.", progress: ["Your votes: {}. All votes: {} (raters: {}).", [mine, all, raters]] });
      else if (answer.status === 409 && options) ask(told.error);
      return;
    } catch (error) {
      sayLost(true); // the vote is not lost: it is sent until somebody takes it
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
