#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_line.h"
#include "cli/failure.h"
#include "forebay/versions.h"
#include "loader/versions/build.h"
#include "loader/versions/versions_json.h"

namespace forebay {
namespace {

void print_row(const Console& console, std::string_view name, std::string_view value) {
  fmt::print(console.out, "  {:<14} {}\n", name, value);
}

void print_versions(const Versions& all, const Console& console) {
  fmt::print(console.out, "forebay {}\n", all.forebay);
  print_row(console, "revision", all.revision.empty() ? "unknown" : all.revision);
  print_row(console, "compiler", all.compiler);
  print_row(console, "processor", fmt::format("{}", fmt::join(all.processor, " ")));
  fmt::print(console.out, "libraries\n");
  for (const LibraryVersion& library : all.libraries) print_row(console, library.name, library.version);
  fmt::print(console.out, "modules\n");
  for (const ModuleVersion& module : all.modules) {
    const std::string_view colon = module.detail.empty() ? "" : ": ";
    print_row(console, module.name, fmt::format("{}{}{}", module.loads ? "loads" : "missing", colon, module.detail));
  }
}

}  // namespace

int version_option(const Arguments& arguments, const Console& console) {
  CommandLine line("--version", "What version this is, of Forebay and of what it uses.");
  bool verbose = false;
  line.app().add_flag("--verbose", verbose, "also revision, compiler, processor, libraries, and modules that load");
  if (const std::optional<int> code = line.parse(arguments, console)) return *code;
  if (line.json()) {
    print_json(SortedJson(versions_json()), console);
  } else if (verbose) {
    print_versions(versions(), console);
  } else {
    fmt::print(console.out, "forebay {}\n", build().version);
  }
  return kDone;
}

}  // namespace forebay
