import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { findGo } from './go.mjs';

/** Stripe's own stand-in, which checks each call against Stripe's API description. */
const SOURCE = 'test/stripe-mock';
const FOLDER = '.cache/stripe-mock';

export const STRIPE_MOCK_STEP = {
  folder: FOLDER,
  sources: [`${SOURCE}/go.mod`, `${SOURCE}/go.sum`],
  make: buildStripeMock,
};

function buildStripeMock(root, say) {
  say('Building stripe-mock …');
  const folder = join(root, FOLDER);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  // Go needs folders for its packages even if there is no home directory.
  const env = { GOPATH: join(folder, 'packages'), GOCACHE: join(folder, 'compiled'), GOFLAGS: '-modcacherw' };
  const problem = build(root, folder, env);
  for (const built of ['packages', 'compiled']) rmSync(join(folder, built), { recursive: true, force: true });
  if (problem === undefined) return undefined;
  rmSync(folder, { recursive: true, force: true });
  return `The tests that need stripe-mock will be skipped: ${problem}`;
}

function build(root, folder, env) {
  const go = findGo(folder, env);
  if (go.problem !== undefined) return go.problem;
  const args = ['build', '-mod=readonly', '-o', join(folder, 'stripe-mock'), 'github.com/stripe/stripe-mock'];
  const { ok, output } = go.run(args, { cwd: join(root, SOURCE) });
  return ok ? undefined : `go build said:\n    ${output}`;
}
