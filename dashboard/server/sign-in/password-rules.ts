import { randomInt } from 'node:crypto';

export type PasswordProblem = 'too_short' | 'too_long' | 'is_email' | 'too_common';

export const MIN_PASSWORD = 12;
export const MAX_PASSWORD = 256;

/** Common passwords of twelve or more characters. */
const COMMON = new Set(
  `123456789012 1234567890123 12345678901234 123456789101112 012345678901 123123123123 123321123321 112233445566 121212121212
  1q2w3e4r5t6y 1qaz2wsx3edc 1q2w3e4r5t6y7u 1qazxsw23edc qwertyuiop12 qwertyuiop123 qwertyuiop1234 qwerty123456 qwerty12345678
  qwertyuiopasdfghjkl qwertyuiopasdfghjklzxcvbnm qwertyqwerty asdfghjkl123 zxcvbnm12345 q1w2e3r4t5y6 abcdefghijkl abcdefghijklm
  abcdefghijklmnopqrstuvwxyz abc123456789 abcd12345678 aaaa11112222 a1b2c3d4e5f6 password1234 password12345 password123456
  password123! password1234! passwordpassword passw0rd1234 p@ssw0rd1234 p@ssword1234 mypassword123 iloveyou1234 iloveyou12345
  iloveyouforever letmeinletmein letmein12345 welcome12345 welcome123456 administrator admin1234567 admin123456789 administrator1
  changeme1234 changemechangeme unbelievable superman1234 football1234 baseball1234 princess1234 sunshine1234 dragon123456
  monkey123456 michael12345 charlie12345 liverpoolfc1 manchesterunited correcthorsebatterystaple trustno1trustno1 secretsecret
  testtesttest test12345678 temppassword supersecret123 startrek1234 starwars1234 pokemon12345 computer1234 internet1234`.split(
    /\s+/,
  ),
);

/** The reason why the user with this email address cannot have this password, or undefined. */
export function passwordProblem(password: string, email: string): PasswordProblem | undefined {
  // A text with this many UTF-16 units exceeds the bound however its characters combine, so it is
  // not normalized.
  if (password.length > MAX_PASSWORD * 8) return 'too_long';
  const characters = [...password.normalize('NFC')];
  if (characters.length < MIN_PASSWORD) return 'too_short';
  if (characters.length > MAX_PASSWORD) return 'too_long';
  const folded = characters.join('').trim().toLowerCase();
  if (folded === email.toLowerCase()) return 'is_email';
  return COMMON.has(folded) || new Set(characters).size < 3 ? 'too_common' : undefined;
}

/** Excludes characters that look alike. */
const LETTERS = '23456789abcdefghjkmnpqrstuvwxyz';
const GROUPS = 5;
const GROUP_LENGTH = 4;

/** 20 characters of 31, which is 99 bits, in groups for reading aloud: `h7kq-…`. */
export function randomPassword(): string {
  const group = () => Array.from({ length: GROUP_LENGTH }, () => LETTERS.charAt(randomInt(LETTERS.length))).join('');
  return Array.from({ length: GROUPS }, group).join('-');
}
