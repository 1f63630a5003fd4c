#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace forebay {

/// Exit codes of the program. Users rely on the numbers.
enum ExitCode : int { kDone = 0, kFailed = 1, kMisuse = 2, kInterrupted = 130 };

/// Output files of a verb. Results go to `out`, progress and errors to `err`. The caller owns the
/// files. A verb writes only from the thread that called it, except for log warnings.
struct Console {
  FILE* out = stdout;
  FILE* err = stderr;
};

/// The arguments after the verb.
using Arguments = std::vector<std::string>;

/// A sub-command: a row of the table that verbs() returns.
struct Verb {
  std::string_view name;
  std::string_view help;  ///< one line
  int (*run)(const Arguments& arguments, const Console& console);
};
std::span<const Verb> verbs();

/// Runs the verb that the first argument names and returns the exit code of the program.
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
int ui_verb(const Arguments& arguments, const Console& console);

}  // namespace forebay
