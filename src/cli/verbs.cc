#include "cli/verbs.h"

#include <exception>

#include <fmt/format.h>

#include "base/suggest.h"

namespace forebay {
namespace {

constexpr Verb kVerbs[] = {
    {"bench", "how fast a pipeline is here, and beside other loaders that do the same work", bench_verb},
    {"cache", "what is kept for pipelines with .cache(): ls, verify, clear", cache_verb},
    {"demo", "photographs to batches: speed, digest, and a picture of what the trainer sees", demo_verb},
    {"diagnose", "what holds a pipeline up, what to change, and what that gains", diagnose_verb},
    {"inspect", "what is in a data set: count, classes, formats, sizes, unreadable records", inspect_verb},
    {"materialize", "run the steps that give the same in each epoch once, and write what they give", materialize_verb},
    {"plan", "which samples go to which rank at which step, from the seed alone", plan_verb},
    {"profile", "which steps to run once and keep, and which each epoch", profile_verb},
    {"run", "iterate over a pipeline: speed and digest of each epoch", run_verb},
    {"serve", "one engine for the processes of this host; also: status, stop", serve_verb},
    {"simulate", "what a pipeline would give on many hosts, and what would make it faster", simulate_verb},
    {"ui", "the live pages of running loaders: loader.show(), or FOREBAY_UI=1", ui_verb},
};

std::string program_help() {
  std::string text =
      "Forebay: stored data, a pipeline and a seed become a steady stream of training batches.\n\n"
      "Usage: forebay <verb> [options]\n\nVerbs:\n";
  for (const Verb& verb : kVerbs) text += fmt::format("  {:<12}{}\n", verb.name, verb.help);
  text +=
      "\nOptions:\n"
      "  --help    this text; after a verb, its options\n"
      "  --version what version this is\n"
      "\nEvery verb takes --json. Exit codes: 0 done, 1 failed, 2 misuse, 130 interrupted.\n";
  return text;
}

int unknown_verb(const std::string& name, const Console& console) {
  std::vector<std::string> names;
  for (const Verb& verb : kVerbs) names.emplace_back(verb.name);
  const std::string kind = name.starts_with('-') ? "option" : "verb";
  if (kind == "option") names = {"--help", "--version"};
  fmt::print(console.err, "forebay: there is no {} '{}'{}; 'forebay --help' lists what there is.\n", kind, name,
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
  if (first == "--version") {
    fmt::print(console.out, "forebay {}\n", FOREBAY_VERSION);
    return kDone;
  }
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
