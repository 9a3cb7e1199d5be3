import { databaseFigures } from '#database/process-reports/database-figures.ts';
import { currentConfiguration, listProcesses } from '#database/process-reports/process-reports.ts';
import { type Route, route } from '../http/route.ts';
import { mappingView, processView } from './operations-view.ts';

export const OPERATION_ROUTES: readonly Route[] = [
  route('GET /api/mapping', {
    access: 'operator',
    async handle({ deps }) {
      const configuration = await currentConfiguration(deps.database);
      const mapping = mappingView(configuration, await listProcesses(deps.database), deps.nowMs());
      return { ...mapping, catalogue: deps.compareWithCatalogue() };
    },
  }),
  route('GET /api/system', {
    access: 'operator',
    async handle({ deps }) {
      const [processes, { deadLetters, ...database }] = await Promise.all([
        listProcesses(deps.database),
        databaseFigures(deps.database),
      ]);
      return { nowMs: deps.nowMs(), processes: processes.map(processView), database, deadLetters };
    },
  }),
];
