#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include "cli/verbs.h"

namespace forebay {

/// What one verb accepts. Every verb has --json and --help; the others are added to app() before parse().
class CommandLine {
 public:
  CommandLine(std::string_view verb, std::string_view help);

  CLI::App& app() { return app_; }
  /// A whole number from `low` to `high`.
  template <typename T>
  CLI::Option* add_number(const std::string& name, T& value, int64_t low, int64_t high, const std::string& help) {
    // Without its description, which would stand in the help beside the type's name.
    return app_.add_option(name, value, help)->type_name("N")->check(CLI::Range(low, high).description(""));
  }
  /// An option that takes a number of bytes: "2GiB".
  CLI::Option* add_bytes(const std::string& name, std::optional<uint64_t>& value, const std::string& help);

  /// Nothing when the verb may go on, else how the program ends: help was asked for, or something was mistyped (then it
  /// has been said, with a suggestion).
  std::optional<int> parse(const Arguments& arguments, const Console& console);
  bool json() const { return json_; }

  /// Says what is wrong with what was typed: for rules between options.
  int misuse(std::string_view what, const Console& console) const;

 private:
  std::string unknown_option(const Arguments& arguments) const;

  std::string verb_;
  CLI::App app_;
  bool json_ = false;
};

}  // namespace forebay
