import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { requirement } from '../harness/requirement.ts';
import { imageOf } from '../launchers/images.ts';
import { buildProgram, type Cluster, fromManual, IMAGE, missingCluster, raiseCluster } from './cluster.ts';

/** The trial of docs/kubernetes.md, installed by helm on a real cluster from one values file. */
const HELM = 'helm.sh/helm/v3/cmd/helm';
const POSTGRES = 'registry.test/postgres:trial';
const INSTALL_MS = 1_200_000;

/**
 * The chart runs PostgreSQL as user 999, which the official image has. A stand-in image lacks this
 * user, and its script runs `su`, which only root may.
 */
const POSTGRES_DOCKERFILE = `FROM ${imageOf('POSTGRES_IMAGE')}
RUN groupmod -g 999 postgres && usermod -u 999 postgres && mkdir -p /var/run/postgresql && chown -R postgres /var/run/postgresql
RUN printf '#!/bin/sh\\nexec sh -c "$3"\\n' >/usr/local/bin/su && chmod 755 /usr/local/bin/su
`;

let cluster: Cluster;

requirement(missingCluster(), () => {
  beforeAll(async () => {
    cluster = await raiseCluster();
    await buildProgram(cluster, HELM);
    await cluster.run(`docker build -t ${IMAGE}:0.1.0 . && docker push ${IMAGE}:0.1.0
      docker build -t ${POSTGRES} - <<'END'\n${POSTGRES_DOCKERFILE}END\n      docker push ${POSTGRES}`);
  }, INSTALL_MS);

  afterAll(() => cluster?.remove(), INSTALL_MS);

  test(
    'ten lines of values install a gateway that serves requests, and both doctors find no problem',
    async () => {
      const { trial, ...values } = parse(fromManual('Helm', 'yaml')) as { trial: object };
      const stores = { postgresImage: POSTGRES, redisImage: imageOf('REDIS_IMAGE') };
      const text = stringify({ ...values, envoyImage: imageOf('ENVOY_IMAGE'), trial: { ...trial, ...stores } });
      writeFileSync(join(cluster.folder, 'trial.yaml'), text);
      const [, install = ''] = fromManual('Helm', 'sh').split('\n');
      expect(await cluster.run(install)).toMatch(/Phase: +Succeeded/);
      expect(await cluster.run('kubectl -n trial logs trial-test')).toMatch(/^200 \{.*"object":"chat.completion"/);
      for (const pod of ['gateway-0 -c gateway', 'deploy/dashboard']) {
        const examined = await cluster.run(`kubectl -n trial exec ${pod} -- gateway doctor --json`);
        expect(JSON.parse(examined), pod).toMatchObject({ ok: true });
      }
    },
    INSTALL_MS,
  );
});
