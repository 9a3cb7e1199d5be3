/**
 * `npm run bench` compares the gateway with plain Envoy on the same machine in the same run. The
 * CPU time of every process of a side is read from /proc. Load generator and provider run in
 * processes of their own and are not counted. Rounds alternate between the sides, and medians are
 * printed.
 *
 * Options: `--quick` runs one round of each with almost no warm-up; `--rounds N`; `--scenario TEXT`
 * selects the scenario with that name, or all whose name contains it; `--turns` alternates the
 * scenarios too, so that they can be compared; `--json FILE` (default bench-results.json);
 * `--ledger` adds CPU time and wake-ups by groups of threads; `--peer FILE` adds Agent Router,
 * whose ext_proc service is that file; `--rate-limit FILE` adds it with keys and token limits, with
 * that file as rate limit service; `--record` writes the ratios that ratio.test.ts compares with.
 * Exits with 1 if a request failed or a ledger does not add up.
 */
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { missingRedis } from '../harness/redis-server.ts';
import { summarize } from './figures.ts';
import { printLedgers } from './ledger-report.ts';
import { ratiosOf, record } from './ratios.ts';
import { printFaults, printMemory, printTable } from './report.ts';
import { measureInTurns, measureScenario, type Round } from './round.ts';
import { SCENARIOS } from './scenarios.ts';
import { LIMITED_PEER, PEER, type SideName, startSides, WITH_REDIS } from './sides.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string' },
    quick: { type: 'boolean', default: false },
    scenario: { type: 'string', default: '' },
    json: { type: 'string', default: 'bench-results.json' },
    turns: { type: 'boolean', default: false },
    ledger: { type: 'boolean', default: false },
    peer: { type: 'string' },
    'rate-limit': { type: 'string' },
    record: { type: 'boolean', default: false },
  },
});
const counts = {
  warmUps: values.quick ? 1 : Number.POSITIVE_INFINITY,
  rounds: Number(values.rounds ?? (values.quick ? 1 : 5)),
};
const named = SCENARIOS.filter(({ name }) => name === values.scenario);
const scenarios = named.length > 0 ? named : SCENARIOS.filter(({ name }) => name.includes(values.scenario));
if (scenarios.length === 0) {
  process.stderr.write(`--scenario takes a part of one of: ${SCENARIOS.map(({ name }) => `"${name}"`).join(', ')}\n`);
  process.exit(2);
}
const startedAt = new Date().toISOString();

if (missingRedis !== undefined) process.stderr.write(`Left out: ${WITH_REDIS}; it needs ${missingRedis}\n`);
const peer = { extProc: values.peer, rateLimit: values['rate-limit'] };
const missing: SideName[] = [];
if (missingRedis !== undefined) missing.push(WITH_REDIS, LIMITED_PEER);
if (peer.extProc === undefined) missing.push(PEER, LIMITED_PEER);
if (peer.rateLimit === undefined) missing.push(LIMITED_PEER);
const sides = new Set(scenarios.flatMap((scenario) => scenario.sides).filter((side) => !missing.includes(side)));
const setup = await startSides([...sides], peer);
try {
  const rounds: Round[] = [];
  if (values.turns) rounds.push(...(await measureInTurns(setup, scenarios, counts)));
  else for (const scenario of scenarios) rounds.push(...(await measureScenario(setup, scenario, counts)));
  await setup.verifyLedgers();
  const figures = summarize(rounds);
  printTable(figures);
  printMemory(figures);
  printFaults(figures);
  if (values.ledger) {
    const wrong = printLedgers(rounds);
    for (const name of wrong) process.stderr.write(`The ledger does not add up: ${name}\n`);
    if (wrong.length > 0) process.exitCode = 1;
  }
  if (rounds.some(({ faults }) => Object.keys(faults).length > 0)) process.exitCode = 1;
  if (values.record) record(ratiosOf(figures));
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length };
  writeFileSync(values.json, `${JSON.stringify({ startedAt, ...machine, figures, rounds }, null, 2)}\n`);
} catch (error) {
  process.stderr.write(`${setup.logs().slice(-4000)}\n`);
  throw error;
} finally {
  await setup.close();
}
