/** The texts of the lessons' rigs, by file, taken in when the page is built. */
import credits from "./lesson-credits.toml?raw";
import oversubscription from "./lesson-oversubscription.toml?raw";
import payload from "./lesson-payload.toml?raw";
import switches from "./lesson-switch.toml?raw";
import tags from "./lesson-tags.toml?raw";
import whyX8 from "./lesson-why-x8.toml?raw";

export const TEXTS: Readonly<Record<string, string>> = {
  "lesson-why-x8.toml": whyX8,
  "lesson-payload.toml": payload,
  "lesson-credits.toml": credits,
  "lesson-tags.toml": tags,
  "lesson-switch.toml": switches,
  "lesson-oversubscription.toml": oversubscription,
};
