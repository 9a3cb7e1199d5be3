import { describe, expect, it } from 'vitest';
import { hashPassword, verifyPassword } from './password.ts';

const PASSWORD = 'a horse, a kingdom';

async function hashed(password: string): Promise<string> {
  const phc = await hashPassword(password);
  if (phc === 'busy') throw new Error('nobody else hashes here');
  return phc;
}

describe('passwords', () => {
  it('are stored as argon2id of 19 MiB and two passes, each with its own salt', async () => {
    const [one, other] = [await hashed(PASSWORD), await hashed(PASSWORD)];
    expect(one).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/);
    expect(other).not.toBe(one);
    expect(await verifyPassword(PASSWORD, one)).toBe(true);
    expect(await verifyPassword(PASSWORD, other)).toBe(true);
    expect(await verifyPassword(`${PASSWORD} `, one)).toBe(false);
    expect(await verifyPassword('', one)).toBe(false);
  });

  it('agree with a reference implementation', async () => {
    // From the test vectors of phc-winner-argon2.
    const phc = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
    expect(await verifyPassword('password', phc)).toBe(true);
    expect(await verifyPassword('passwore', phc)).toBe(false);
  });

  it('are the same however a keyboard composes them', async () => {
    const phc = await hashed('Zo\u00eb und Andr\u00e9');
    expect(await verifyPassword('Zoe\u0308 und Andre\u0301', phc)).toBe(true);
  });

  it('of unknown users are wrong, after the same time as for known ones', async () => {
    const phc = await hashed(PASSWORD);
    const cost = async (stored: string | undefined) => {
      const before = process.cpuUsage();
      expect(await verifyPassword('something else', stored)).toBe(false);
      const { user } = process.cpuUsage(before);
      return user;
    };
    const somebody: number[] = [];
    const nobody: number[] = [];
    for (let round = 0; round < 5; round++) {
      somebody.push(await cost(phc));
      nobody.push(await cost(undefined));
    }
    const median = (values: number[]) => values.sort((a, b) => a - b)[2] ?? 0;
    expect(median(nobody) / median(somebody)).toBeGreaterThan(0.5);
    expect(median(nobody) / median(somebody)).toBeLessThan(2);
  });

  it('longer than any valid one are wrong without being hashed', async () => {
    expect(await verifyPassword('x'.repeat(10_000_000), await hashed(PASSWORD))).toBe(false);
  });

  it('that exceed the queue are refused at once', async () => {
    const cheap = '$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc';
    const all = await Promise.all(Array.from({ length: 70 }, () => verifyPassword(PASSWORD, cheap)));
    expect(all.filter((result) => result === 'busy')).toHaveLength(8);
    expect(all.filter((result) => result === false)).toHaveLength(62);
  });

  it.each([
    'plain',
    '',
    '$argon2i$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
    '$argon2id$v=19$m=9999999,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
    '$argon2id$v=19$m=65536,t=999,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc',
  ])('stored as %j are a defect, and do not appear in the message', async (phc) => {
    await expect(verifyPassword(PASSWORD, phc)).rejects.toThrow(
      /^a stored password is no argon2id text that we wrote$/,
    );
  });
});
