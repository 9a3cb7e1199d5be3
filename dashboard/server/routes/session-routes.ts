import { z } from 'zod';
import { present } from '#core/present.ts';
import { redeemSignInLink } from '#database/sign-in/password-links.ts';
import { deleteSession, sessionsOf } from '#database/sign-in/sessions.ts';
import { askForReset, resetsByMail } from '../alerts/forgotten-password.ts';
import { notFound, type Problem } from '../http/problem.ts';
import { type Deps, type Route, route } from '../http/route.ts';
import { acceptSignedIn } from '../sign-in/accept-invitation.ts';
import { beginAtIssuer, finishAtIssuer, signOutUrl } from '../sign-in/issuer-sign-in.ts';
import { findLink, LINK_GONE } from '../sign-in/links.ts';
import { findSignedIn, sessionView } from '../sign-in/session.ts';
import { hashToken } from '../sign-in/session-token.ts';
import { changePassword, confirmPassword, setPasswordByLink } from '../sign-in/set-password.ts';
import { enter, PASSWORDS_OFF, signIn } from '../sign-in/sign-in.ts';

/** Text that is only compared. The response must not depend on whether it could be valid. */
const typed = upTo(2_048);
const token = upTo(100);

function upTo(characters: number) {
  return z.string({ error: 'This must be text.' }).max(characters, { error: 'This is too long.' });
}

/** Refuses calls while passwords are off. */
function ifPasswords<Call extends { readonly deps: Deps }, Response>(
  handle: (call: Call) => Promise<Response | Problem>,
): (call: Call) => Promise<Response | Problem> {
  return async (call) => (call.deps.settings().signIn.password ? handle(call) : PASSWORDS_OFF);
}

export const SESSION_ROUTES: readonly Route[] = [
  route('GET /api/session', {
    access: 'user',
    handle: async ({ session, caller, deps }) => sessionView(session, caller, deps),
  }),
  route('POST /api/session', {
    access: 'anyone',
    input: z.strictObject({ email: typed, password: typed }),
    handle: ifPasswords((call) => signIn(call, call.input)),
  }),
  // Needs no session, so that the cookie of an ended session can be cleared.
  route('DELETE /api/session', {
    access: 'anyone',
    async handle(call) {
      const { deps, caller, cookies } = call;
      const signedIn = await findSignedIn(deps, cookies.session.value);
      cookies.session.clear();
      if (!signedIn) return {};
      const ended = await deleteSession(deps.database, signedIn.user, signedIn.session.id, caller.address);
      return present({ signOutUrl: ended && (await signOutUrl(call, ended)) });
    },
  }),
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
    input: z.strictObject({ query: upTo(8_192) }),
    handle: (call) => finishAtIssuer(call, call.input.query),
  }),
  route('POST /api/sign-in-links/use', {
    access: 'anyone',
    input: z.strictObject({ token }),
    async handle(call) {
      const tokenHash = hashToken(call.input.token);
      const used = tokenHash && (await redeemSignInLink(call.deps.database, tokenHash));
      return used ? enter(call, { id: used.userId, beganBy: { by: 'link' } }) : LINK_GONE;
    },
  }),
  route('POST /api/password-resets', {
    access: 'anyone',
    input: z.strictObject({ email: typed }),
    handle: ifPasswords((call) => askForReset(call, call.input.email)),
  }),
  route('POST /api/password-links/inspection', {
    access: 'anyone',
    input: z.strictObject({ token }),
    async handle({ deps, input }) {
      const link = await findLink(deps, input.token);
      if (!link) return LINK_GONE;
      const { email, expiresAtMs } = link;
      if (link.kind === 'password')
        return { email, expiresAtMs, purpose: link.purpose === 'forgotten' ? 'reset' : link.purpose };
      return { email, expiresAtMs, purpose: 'invitation', organization: link.organizationName, role: link.role };
    },
  }),
  route('POST /api/password-links/use', {
    access: 'anyone',
    input: z.strictObject({ token, password: typed }),
    handle: ifPasswords((call) => setPasswordByLink(call, call.input)),
  }),
  route('POST /api/invitations/acceptance', {
    access: 'user',
    input: z.strictObject({ token }),
    handle: (call) => acceptSignedIn(call, call.input.token),
  }),
  route('POST /api/password/confirmation', {
    access: 'user',
    input: z.strictObject({ password: typed }),
    handle: ifPasswords(async (call) => (await confirmPassword(call, call.input.password)) ?? {}),
  }),
  route('PUT /api/password', {
    access: 'user',
    endsAccess: true,
    input: z.strictObject({ current: typed, next: typed }),
    handle: ifPasswords(async (call) => (await changePassword(call, call.input)) ?? {}),
  }),
  route('GET /api/devices', {
    access: 'user',
    async handle({ deps, session }) {
      const sessions = await sessionsOf(deps.database, session.user.id, deps.settings().session);
      const devices = sessions.map(({ expiresAtMs: _, ...device }) => ({
        ...device,
        current: device.id === session.session.id,
      }));
      return { devices };
    },
  }),
  route('DELETE /api/devices/:device', {
    access: 'user',
    endsAccess: true,
    async handle({ deps, session, caller, cookies, params }) {
      const ended = await deleteSession(deps.database, session.user, params.device, caller.address);
      if (!ended) return notFound('device');
      if (params.device === session.session.id) cookies.session.clear();
      return {};
    },
  }),
];
