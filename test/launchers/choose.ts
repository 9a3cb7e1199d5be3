import { spawnSync } from 'node:child_process';
import { type ImageVariable, imageOf } from './images.ts';
import { type LauncherName, launcherName } from './open-launcher.ts';

const USED: readonly ImageVariable[] = ['ENVOY_IMAGE', 'POSTGRES_IMAGE', 'REDIS_IMAGE'];
const DOCKER_TIMEOUT_MS = 10_000;

/**
 * Chooses a launcher when TEST_LAUNCHER is unset: containers if the environment names the images,
 * as in CI, or if Docker has them all. Otherwise binaries. An image is pulled only if somebody
 * named it or asked for containers.
 */
export function chooseLauncher(): { readonly name: LauncherName; readonly because: string } {
  if (process.env.TEST_LAUNCHER !== undefined) return { name: launcherName(), because: 'TEST_LAUNCHER says so' };
  if (USED.every((variable) => process.env[variable] !== undefined)) {
    return { name: 'containers', because: 'the environment names the images' };
  }
  if (haveImages()) return { name: 'containers', because: 'Docker has the images' };
  return { name: 'binaries', because: 'no images are named, and Docker does not have them all' };
}

function haveImages(): boolean {
  const inspected = spawnSync('docker', ['image', 'inspect', ...USED.map(imageOf)], {
    stdio: 'ignore',
    timeout: DOCKER_TIMEOUT_MS,
  });
  return inspected.status === 0;
}
