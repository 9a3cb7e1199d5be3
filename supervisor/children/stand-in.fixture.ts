import { reportListening } from '#core/report-listening.ts';

/** Replaces the gateway process in node-child.test.ts. The first argument selects the behaviour. */
const behaviour = process.argv[2];

if (behaviour === 'refuse') process.exit(78);
if (behaviour === 'crash') process.exit(1);
if (behaviour === 'stubborn') process.on('SIGTERM', () => {});
else process.on('SIGTERM', () => process.exit(0));
process.on('disconnect', () => process.exit(0));
if (behaviour !== 'mute') reportListening();
setInterval(() => {}, 1_000);
