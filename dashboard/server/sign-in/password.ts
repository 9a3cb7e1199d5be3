import { type Argon2Parameters, argon2, randomBytes, timingSafeEqual } from 'node:crypto';
import { createWorkQueue, type Precedence, type Turn } from '../fairness/work-queue.ts';

/** argon2id as OWASP advises: 19 MiB, two passes. It takes 33 ms on the reference machine. */
const MEMORY_KIB = 19_456;
const PASSES = 2;
const PARALLELISM = 1;
const SALT_BYTES = 16;
const HASH_BYTES = 32;

/** Upper bounds for a stored hash. Larger parameters cannot be from this code. */
const MAX_MEMORY_KIB = 262_144;
const MAX_PASSES = 16;

const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,64})\$([A-Za-z0-9+/]{22,86})$/;

/** The queue is full. Callers would not wait any longer. */
export type Busy = 'busy';

/** Hashes a new password. Callers proved a link, session or terminal, so they are known. */
export async function hashPassword(password: string): Promise<string | Busy> {
  const salt = randomBytes(SALT_BYTES);
  const cost = { memory: MEMORY_KIB, passes: PASSES, parallelism: PARALLELISM };
  const digest = await derive('known', password, salt, HASH_BYTES, cost);
  if (digest === 'busy') return 'busy';
  return `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${PARALLELISM}$${base64(salt)}$${base64(digest)}`;
}

/** Longer than any password that can be set (password-rules.ts), so such text is not normalized. */
const MAX_UNITS = 4_096;

/** Hash of a random password. With it an unknown email address takes as long as a known one. */
const NOBODY = `$argon2id$v=19$m=${MEMORY_KIB},t=${PASSES},p=${PARALLELISM}$${base64(randomBytes(SALT_BYTES))}$${base64(randomBytes(HASH_BYTES))}`;

/** Without `phc` (an unknown user, or no password) the result is `false` after the same time. */
export async function verifyPassword(
  password: string,
  phc: string | undefined,
  precedence: Precedence = 'stranger',
): Promise<boolean | Busy> {
  const stored = readPhc(phc ?? NOBODY);
  const isPossible = password.length <= MAX_UNITS;
  const text = isPossible ? password : '';
  const digest = await derive(precedence, text, stored.salt, stored.digest.length, stored.cost);
  if (digest === 'busy') return 'busy';
  return timingSafeEqual(digest, stored.digest) && isPossible && phc !== undefined;
}

type Cost = Pick<Argon2Parameters, 'memory' | 'passes' | 'parallelism'>;

function readPhc(phc: string): { salt: Buffer; digest: Buffer; cost: Cost } {
  const [whole, memory, passes, parallelism, salt = '', digest = ''] = PHC.exec(phc) ?? [];
  const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
  if (whole === undefined || cost.memory > MAX_MEMORY_KIB || cost.passes > MAX_PASSES) {
    throw new Error('a stored password is no argon2id text that we wrote');
  }
  return { salt: Buffer.from(salt, 'base64'), digest: Buffer.from(digest, 'base64'), cost };
}

/** Each run needs 19 MiB and a core. Two at once leave threads of the process for other work. */
const queue: Turn = createWorkQueue({ atOnce: 2, maxWaiting: 60 });

async function derive(
  precedence: Precedence,
  password: string,
  salt: Buffer,
  bytes: number,
  cost: Cost,
): Promise<Buffer | Busy> {
  // Keyboards differ: the same letter may be one code point or two.
  const message = password.normalize('NFC');
  return queue(
    precedence,
    () =>
      new Promise<Buffer>((resolve, reject) => {
        argon2('argon2id', { message, nonce: salt, tagLength: bytes, ...cost }, (error, digest) =>
          error ? reject(error) : resolve(digest),
        );
      }),
  );
}

function base64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
