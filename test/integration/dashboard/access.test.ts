import { describe, expect, it } from 'vitest';
import type { Access, Route } from '#dashboard/server/http/route.ts';
import { ROUTES } from '#dashboard/server/routes.ts';
import { opened } from '../../harness/opened.ts';
import type { Reply } from './dashboard-browser.ts';
import { DECISIONS, type Decision } from './dashboard-routes.ts';
import { ACTORS, type Actor, ask, openScene } from './dashboard-scene.ts';

const nameOf = ({ method, path }: Route) => `${method} ${path}`;

function decisionOf(route: Route): Decision {
  const decision = DECISIONS.get(nameOf(route));
  if (!decision) throw new Error(`nobody has decided who may ask ${nameOf(route)}`);
  return decision;
}

/** The expected refusal of the actor's valid request; `undefined` if the request is served. */
function refusalFor(access: Access, actor: Actor, isOfOrganization: boolean): string | undefined {
  if (access === 'anyone') return undefined;
  if (actor === 'nobody') return 'not_signed_in';
  if (access === 'user' || actor === 'operator') return undefined;
  if (!isOfOrganization) return 'not_allowed';
  if (actor !== 'member' && actor !== 'owner') return 'not_found';
  const isEnough = access === 'member' || access === actor;
  return isEnough ? undefined : 'not_allowed';
}

function outcomeOf({ status, body }: Reply<object>): string {
  return body.problem ?? (status === 200 ? 'served' : `status ${status}`);
}

const SECRET = /sk-gw-[\w-]{20,}|\$argon2|password_?hash/i;
const LINK = /\/link#[\w-]{43}/;

describe('every route', () => {
  const scene = opened(openScene);

  it('has a decision, and no decision is about a route that does not exist', () => {
    expect(ROUTES.map(nameOf).sort()).toEqual([...DECISIONS.keys()].sort());
    const differing = ROUTES.filter((route) => route.access !== decisionOf(route).access);
    expect(differing.map(nameOf)).toEqual([]);
  });

  it.each(ROUTES.map((route) => [nameOf(route), route] as const))(
    '%s serves the actors that its decision allows',
    async (_, route) => {
      const decision = decisionOf(route);
      const isOfOrganization = route.path.includes(':organization');
      const wanted: Record<string, string> = {};
      const found: Record<string, string> = {};
      for (const actor of ACTORS) {
        const parameters = await scene.parametersFor(route, actor);
        const reply = await ask(await scene.browserOf(actor), route, parameters, decision);
        wanted[actor] = refusalFor(decision.access, actor, isOfOrganization) ?? decision.answer ?? 'served';
        found[actor] = outcomeOf(reply);
        const isCreation = decision.tells !== undefined && found[actor] === 'served';
        expectNoSecret(reply, isCreation ? decision.tells : undefined);
      }
      expect(found).toEqual(wanted);
    },
  );

  function expectNoSecret({ text }: Reply<object>, told: Decision['tells']): void {
    expect(SECRET.test(text)).toBe(told === 'key');
    expect(LINK.test(text)).toBe(told === 'link');
    expect(scene.hashes.filter((hash) => text.includes(hash))).toEqual([]);
  }

  const inside = ROUTES.filter(({ path }) => /:organization\/.*:/.test(path));

  it.each(inside.map((route) => [nameOf(route), route] as const))(
    '%s finds no object of another organization',
    async (_, route) => {
      for (const actor of ['owner of another organization', 'operator'] as const) {
        const parameters = await scene.parametersFor(route, actor);
        const before = await stateOf(parameters);
        const elsewhere = { ...parameters, organization: scene.otherId };
        const reply = await ask(await scene.browserOf(actor), route, elsewhere, decisionOf(route));
        expect(outcomeOf(reply), actor).toBe('not_found');
        expect(await stateOf(parameters)).toEqual(before);
      }
    },
  );

  /** The state of the objects that the parameters name, seen by an owner of their organization. */
  async function stateOf({ key, user, view }: Readonly<Record<string, string>>): Promise<unknown> {
    const owner = await scene.browserOf('owner');
    const base = `/api/organizations/${scene.organizationId}`;
    const { body } = await owner.get<{ members: { userId: string }[] }>(`${base}/members`);
    const { views } = (await owner.get<{ views: { id: string }[] }>(`${base}/views`)).body;
    return {
      key: key === undefined ? undefined : (await owner.get(`${base}/keys/${key}`)).text,
      member: body.members.find(({ userId }) => userId === user),
      view: views.find(({ id }) => id === view),
    };
  }

  it.each(inside.map((route) => [nameOf(route), route] as const))(
    '%s finds no object with an unknown or malformed id, not even for operators',
    async (_, route) => {
      const operator = await scene.browserOf('operator');
      const parameters = await scene.parametersFor(route, 'operator');
      const nowhere = `org-${'0'.repeat(26)}`;
      const lost = await ask(operator, route, { ...parameters, organization: nowhere }, decisionOf(route));
      expect(outcomeOf(lost)).toBe('not_found');
      for (const name of Object.keys(parameters)) {
        const malformed = { ...parameters, [name]: `${parameters[name]}'` };
        const refused = await ask(operator, route, malformed, decisionOf(route));
        expect(outcomeOf(refused), name).toBe('not_found');
        expect(refused.body.message, name).toMatch(/^There is no such [a-z -]+\.$/);
      }
    },
  );

  it('about an organization finds no organization with an unknown id', async () => {
    const operator = await scene.browserOf('operator');
    const whole = ROUTES.filter(
      ({ path }) => path.includes(':organization') && !inside.some((one) => one.path === path),
    );
    expect(whole.length).toBeGreaterThan(5);
    const found: Record<string, string> = {};
    for (const route of whole) {
      const parameters = { organization: `org-${'0'.repeat(26)}` };
      found[nameOf(route)] = outcomeOf(await ask(operator, route, parameters, decisionOf(route)));
    }
    expect(found).toEqual(Object.fromEntries(whole.map((route) => [nameOf(route), 'not_found'])));
  });
});
