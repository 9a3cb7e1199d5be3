import { currentConfiguration } from '../../ext-proc/stores/postgres/process-reports.ts';
import { nothing } from './input-fields.ts';
import { modelView } from './models-view.ts';
import { organizationView } from './organization-view.ts';
import { type Route, route } from './route.ts';

/** What everybody in an organization looks at first. */
export const OVERVIEW_ROUTES: readonly Route[] = [
  route('GET /api/organizations/:organization', {
    access: 'member',
    input: nothing,
    answer: ({ deps, organizationId }) => organizationView(deps, organizationId),
  }),
  route('GET /api/organizations/:organization/models', {
    access: 'member',
    input: nothing,
    async answer({ deps }) {
      const configuration = await currentConfiguration(deps.database);
      return { models: configuration?.models.map(modelView) ?? [] };
    },
  }),
];
