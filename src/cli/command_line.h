#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <CLI/CLI.hpp>

#include "cli/verbs.h"

namespace forebay {

/// What one verb accepts. Every verb has --json and --help; the others are added to app() before parse().
/// Options are bound to variables: what add_...() was given must live, and stay where it is, until parse() has returned. One
/// thread; made anew for each run of a verb, since parse() is called once.
class CommandLine {
 public:
  CommandLine(std::string_view verb, std::string_view help);

  CLI::App& app() { return app_; }
  /// A whole number from `low` to `high`, in decimal. T is an integer that holds both, or an optional one.
  /// What is no such number is misuse, told with the range; the variable then keeps what it was.
  template <typename T>
  CLI::Option* add_number(const std::string& name, T& value, int64_t low, int64_t high, const std::string& help) {
    CLI::Option* option =
        add_int64(name, [&value](int64_t given) { value = static_cast<ValueOf<T>>(given); }, low, high, help);
    if constexpr (std::is_integral_v<T>) option->default_function([&value] { return std::to_string(value); });
    return option;
  }
  /// --seed: 0 to 2^64 - 1.
  CLI::Option* add_seed(uint64_t& seed, const std::string& help);
  /// An option that takes a number of bytes: "2GiB".
  /// Misuse for what is no size; the units are those of parse_byte_size(), as in every face.
  CLI::Option* add_bytes(const std::string& name, std::optional<uint64_t>& value, const std::string& help);

  /// Nothing when the verb may go on, else how the program ends: help was asked for, or something was mistyped (then it
  /// has been said, with a suggestion).
  std::optional<int> parse(const Arguments& arguments, const Console& console);
  bool json() const { return json_; }

  /// Says what is wrong with what was typed: for rules between options.
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
