#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <CLI/CLI.hpp>

#include "cli/verbs.h"

namespace forebay {

/// The command line of one verb. Every verb has --json and --help; a verb adds its other options to
/// app() before parse(). Options are bound to variables, so the variables given to add_...() must
/// live and not move until parse() has returned.
///
/// One thread uses it. Each run of a verb creates a new one and calls parse() once.
class CommandLine {
 public:
  CommandLine(std::string_view verb, std::string_view help);

  CLI::App& app() { return app_; }
  /// Adds an option that takes a decimal integer from `low` to `high`. T is an integer type that
  /// holds both, or an optional one. Any other text is misuse, reported with the range, and leaves
  /// the variable unchanged.
  template <typename T>
  CLI::Option* add_number(const std::string& name, T& value, int64_t low, int64_t high, const std::string& help) {
    CLI::Option* option =
        add_int64(name, [&value](int64_t given) { value = static_cast<ValueOf<T>>(given); }, low, high, help);
    if constexpr (std::is_integral_v<T>) option->default_function([&value] { return std::to_string(value); });
    return option;
  }
  /// Adds --seed, which takes 0 to 2^64 - 1.
  CLI::Option* add_seed(uint64_t& seed, const std::string& help);
  /// Adds an option that takes a number of bytes such as "2GiB", with the units of
  /// parse_byte_size(). Any other text is misuse.
  CLI::Option* add_bytes(const std::string& name, std::optional<uint64_t>& value, const std::string& help);

  /// Returns nothing if the verb may go on. Otherwise it has printed the help, or an error with a
  /// suggestion, and returns the exit code.
  std::optional<int> parse(const Arguments& arguments, const Console& console);
  bool json() const { return json_; }

  /// Prints an error for a violated rule between options and returns the exit code.
  int misuse(std::string_view what, const Console& console) const;

 private:
  template <typename T>
  struct Inner {
    using type = T;
  };
  template <typename T>
  struct Inner<std::optional<T>> {
    using type = T;
  };
  template <typename T>
  using ValueOf = typename Inner<T>::type;

  CLI::Option* add_int64(const std::string& name, std::function<void(int64_t)> set, int64_t low, int64_t high,
                         const std::string& help);
  std::string unknown_option(const Arguments& arguments) const;

  std::string verb_;
  CLI::App app_;
  bool json_ = false;
};

}  // namespace forebay
