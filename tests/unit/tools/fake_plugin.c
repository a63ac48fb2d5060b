/* As much of a plugin as tells its release: 24.11.5. */
const char plugin_name[] = "fake";
const char plugin_type[] = "spank";
const unsigned int plugin_version = 0x180b05;
