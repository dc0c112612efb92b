// Questions to the server. Two ways to fail: Refused (it says what is wrong) and Unreachable (nobody answers).

export class Refused extends Error {
  constructor(problems) {
    super(problems.map((one) => one.what).join("; "));
    this.problems = problems;
  }
}

export class Unreachable extends Error {}

const PATIENCE_MS = 30000;
const WRITING_MS = 75000;

async function answer(path, options, patience = PATIENCE_MS) {
  let response;
  try {
    response = await fetch(path, { ...options, signal: AbortSignal.timeout(patience) });
  } catch (error) {
    throw new Unreachable(error.message);
  }
  if (response.ok) return response;
  // a busy server says when to come back; an answer that took too long is given up for good
  const again = response.status >= 502 && (response.status !== 503 || response.headers.has("retry-after"));
  if (again) throw new Unreachable(`status ${response.status}`);
  const body = await response.json().catch(() => ({}));
  const fallback = [{ what: `the server answered with status ${response.status}`, field: null }];
  throw new Refused(body.problems ?? fallback);
}

export const get = async (path) => (await answer(path)).json();

const posted = (question) => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(question),
});

export const ask = async (path, question) => (await answer(path, posted(question))).json();
export const file = async (path, question) => (await answer(path, posted(question), WRITING_MS)).blob();
