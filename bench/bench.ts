import { installAtFirstUse } from './first-use.ts';
import { HELP, readOptions } from './options.ts';

const options = readOptions(process.argv.slice(2));
if (!options) {
  process.stdout.write(HELP);
} else {
  installAtFirstUse();
  // Imported only now, because it imports the packages just installed.
  const { run } = await import('./run.ts');
  await run(options);
}
