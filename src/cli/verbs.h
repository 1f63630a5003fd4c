#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace forebay {

/// How the program ends. The numbers are part of what users rely on.
enum ExitCode : int { kDone = 0, kFailed = 1, kMisuse = 2, kInterrupted = 130 };

/// Where a verb prints: results to `out`, progress and complaints to `err`.
/// The files are the caller's, who closes them; a verb writes from the thread that called it alone, but for warnings of the log.
struct Console {
  FILE* out = stdout;
  FILE* err = stderr;
};

/// What the user typed after the verb.
using Arguments = std::vector<std::string>;

/// A sub-command: a row of the table that verbs() gives.
struct Verb {
  std::string_view name;
  std::string_view help;  ///< one line
  int (*run)(const Arguments& arguments, const Console& console);
};
std::span<const Verb> verbs();

/// The whole program: finds the verb, runs it, and gives the exit code. The first argument is the verb.
int run_program(const Arguments& arguments, const Console& console);

int bench_verb(const Arguments& arguments, const Console& console);
int cache_verb(const Arguments& arguments, const Console& console);
int demo_verb(const Arguments& arguments, const Console& console);
int diagnose_verb(const Arguments& arguments, const Console& console);
int inspect_verb(const Arguments& arguments, const Console& console);
int materialize_verb(const Arguments& arguments, const Console& console);
int profile_verb(const Arguments& arguments, const Console& console);
int simulate_verb(const Arguments& arguments, const Console& console);
int run_verb(const Arguments& arguments, const Console& console);
int serve_verb(const Arguments& arguments, const Console& console);
int plan_verb(const Arguments& arguments, const Console& console);

}  // namespace forebay
