import { type Command, Option } from 'commander';
import { newClientSecret } from '../protocol/client-secret.ts';
import { applicationJson, credentialsText } from './application-output.ts';
import { withStore } from './database.ts';
import { DAY_MS, parseOverlap } from './duration-option.ts';
import { ownerEmail, requireApplication, unknownApplication } from './find-application.ts';
import { addAction, printable, type Result, readableTime } from './output.ts';

export function addRotateSecretCommand(apps: Command): void {
  const overlap = new Option(
    '--overlap <time>',
    'how long earlier secrets keep working: 0, 30m, 24h, 7d; at most 30d',
  );
  const rotate = apps
    .command('rotate-secret <client_id>')
    .description('print a new client_secret; earlier ones stop working after the overlap')
    .addOption(overlap.default(DAY_MS, '24h').argParser(parseOverlap))
    .addHelpText(
      'after',
      '\nIf a secret leaked, without an overlap:\n  bin/postern apps rotate-secret app_… --overlap 0',
    );
  addAction(rotate, (clientId: string, { overlap: overlapMs }: { overlap: number }) =>
    rotateSecret(clientId, overlapMs),
  );
}

function rotateSecret(clientId: string, overlapMs: number): Promise<Result> {
  return withStore(async ({ store }) => {
    const secret = newClientSecret();
    const now = Date.now();
    if (!(await store.applications.rotateSecret(clientId, secret, now + overlapMs, now)))
      throw unknownApplication(clientId);
    const application = await requireApplication(store, clientId);
    const earlier =
      overlapMs === 0
        ? 'Earlier secrets no longer work.'
        : `Earlier secrets work until ${readableTime(now + overlapMs)} at the latest.`;
    return {
      text: [
        `${printable(application.name)} has a new secret. ${earlier}`,
        credentialsText(clientId, secret),
      ].join('\n\n'),
      json: { ...applicationJson(application, await ownerEmail(store, application)), client_secret: secret },
    };
  });
}
