import { z } from 'zod';
import { redeemSignInLink } from '#database/sign-in/password-links.ts';
import { resetsByMail } from '../alerts/forgotten-password.ts';
import { type Route, route } from '../http/route.ts';
import { beginAtIssuer, finishAtIssuer } from '../sign-in/issuer-sign-in.ts';
import { LINK_GONE } from '../sign-in/links.ts';
import { hashToken } from '../sign-in/session-token.ts';
import { enter } from '../sign-in/sign-in.ts';

export const SIGN_IN_ROUTES: readonly Route[] = [
  route('GET /api/sign-in', {
    access: 'anyone',
    async handle({ deps }) {
      const settings = deps.settings();
      const { password, oidc } = settings.signIn;
      return {
        password,
        ...(oidc === undefined ? {} : { issuer: oidc.name ?? new URL(oidc.issuer).host }),
        ...(resetsByMail(settings) ? { resetsByMail: true } : {}),
      };
    },
  }),
  route('POST /api/oidc/authorization', {
    access: 'anyone',
    input: z.strictObject({ again: z.literal(true).exactOptional() }),
    handle: (call) => beginAtIssuer(call, call.input.again === true),
  }),
  route('POST /api/oidc/session', {
    access: 'anyone',
    input: z.strictObject({
      query: z.string({ error: 'This must be text.' }).max(8_192, { error: 'This is too long.' }),
    }),
    handle: (call) => finishAtIssuer(call, call.input.query),
  }),
  route('POST /api/sign-in-links/use', {
    access: 'anyone',
    input: z.strictObject({
      token: z.string({ error: 'This must be text.' }).max(100, { error: 'This is too long.' }),
    }),
    async handle(call) {
      const tokenHash = hashToken(call.input.token);
      const used = tokenHash && (await redeemSignInLink(call.deps.database, tokenHash));
      return used ? enter(call, { id: used.userId, beganBy: { by: 'link' } }) : LINK_GONE;
    },
  }),
];
