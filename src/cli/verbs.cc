#include "cli/verbs.h"

#include <exception>

#include <fmt/format.h>

#include "base/suggest.h"

namespace forebay {
namespace {

constexpr Verb kVerbs[] = {
    {"bench", "measure the speed of a pipeline, alone or beside loaders that do the same work", bench_verb},
    {"cache", "list, verify or clear the entries of .cache()", cache_verb},
    {"demo", "make batches of photographs: speed, digest, and a picture of the trainer's input", demo_verb},
    {"diagnose", "find the limit of a pipeline, and measure the gain of each change", diagnose_verb},
    {"inspect", "describe a data set: count, classes, formats, sizes, unreadable records", inspect_verb},
    {"materialize", "run the first steps of a pipeline once, and write their output to files", materialize_verb},
    {"plan", "print which samples each rank gets at each step, from the seed alone", plan_verb},
    {"profile", "find the steps to run once and cache, and those to run each epoch", profile_verb},
    {"run", "run a pipeline: speed and digest of each epoch", run_verb},
    {"serve", "share one engine between the processes of this host; also: status, stop", serve_verb},
    {"simulate", "predict the speed of a pipeline on many hosts, and what would make it faster", simulate_verb},
    {"ui", "list the live pages of running loaders: loader.show(), or FOREBAY_UI=1", ui_verb},
};

std::string program_help() {
  std::string text =
      "Forebay: stored data, a pipeline and a seed become a steady stream of training batches.\n\n"
      "Usage: forebay <verb> [options]\n\nVerbs:\n";
  for (const Verb& verb : kVerbs) text += fmt::format("  {:<12}{}\n", verb.name, verb.help);
  text +=
      "\nOptions:\n"
      "  --help    print this text; after a verb, its options\n"
      "  --version print the version; with --verbose also compiler, libraries and modules\n"
      "\nEvery verb takes --json. Exit codes: 0 done, 1 failed, 2 misuse, 130 interrupted.\n";
  return text;
}

int unknown_verb(const std::string& name, const Console& console) {
  std::vector<std::string> names;
  for (const Verb& verb : kVerbs) names.emplace_back(verb.name);
  const std::string kind = name.starts_with('-') ? "option" : "verb";
  if (kind == "option") names = {"--help", "--version"};
  fmt::print(console.err, "forebay: there is no {} '{}'{}; 'forebay --help' lists all of them.\n", kind, name,
             suggestion_text(name, names));
  return kMisuse;
}

int dispatch(const Arguments& arguments, const Console& console) {
  if (arguments.empty()) {
    fmt::print(console.err, "{}", program_help());
    return kMisuse;
  }
  const std::string& first = arguments.front();
  if (first == "--help" || first == "-h" || first == "help") {
    if (first == "help" && arguments.size() > 1) return dispatch({arguments[1], "--help"}, console);
    fmt::print(console.out, "{}", program_help());
    return kDone;
  }
  if (first == "--version") return version_option({arguments.begin() + 1, arguments.end()}, console);
  for (const Verb& verb : kVerbs) {
    if (verb.name == first) return verb.run({arguments.begin() + 1, arguments.end()}, console);
  }
  return unknown_verb(first, console);
}

}  // namespace

std::span<const Verb> verbs() { return kVerbs; }

int run_program(const Arguments& arguments, const Console& console) {
  int code = kFailed;
  try {
    code = dispatch(arguments, console);
  } catch (const std::exception& e) {  // out of memory or a defect
    fmt::print(console.err, "forebay: stopped by an unexpected error: {}. Please report it.\n", e.what());
  }
  // A full disk may show only when the buffer is flushed.
  if (std::fflush(console.out) != 0 || std::ferror(console.out)) {
    fmt::print(console.err, "forebay: the output could not be written; is the disk full?\n");
    if (code == kDone) code = kFailed;
  }
  return code;
}

}  // namespace forebay
