#include "cli/command_line.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/byte_size.h"
#include "base/suggest.h"
#include "cli/whole_number.h"

namespace forebay {

CommandLine::CommandLine(std::string_view verb, std::string_view help)
    : verb_(verb), app_(std::string(help), fmt::format("forebay {}", verb)) {
  app_.set_help_flag("-h,--help", "print this text");
  app_.add_flag("--json", json_, "print the result as JSON, keys sorted");
}

CLI::Option* CommandLine::add_int64(const std::string& name, std::function<void(int64_t)> set, int64_t low,
                                    int64_t high, const std::string& help) {
  // Parsed here, because CLI11 accepts hexadecimal and octal numbers and wraps numbers out of
  // range.
  const auto parse = [name, set = std::move(set), low, high](const std::string& text) {
    const std::optional<int64_t> value = whole_number<int64_t>(text);
    if (!value || *value < low || *value > high)
      throw CLI::ValidationError(name, fmt::format("'{}' is no whole number from {} to {}", text, low, high));
    set(*value);
  };
  return app_.add_option_function<std::string>(name, parse, help)->type_name("N");
}

CLI::Option* CommandLine::add_seed(uint64_t& seed, const std::string& help) {
  const auto parse = [&seed](const std::string& text) {
    const std::optional<uint64_t> value = whole_number<uint64_t>(text);
    if (!value)
      throw CLI::ValidationError("--seed", fmt::format("'{}' is no whole number from 0 to {}", text, UINT64_MAX));
    seed = *value;
  };
  return app_.add_option_function<std::string>("--seed", parse, help)
      ->type_name("N")
      ->default_str(fmt::format("{}", seed));
}

CLI::Option* CommandLine::add_bytes(const std::string& name, std::optional<uint64_t>& value, const std::string& help) {
  const auto set = [&value, name](const std::string& text) {
    value = parse_byte_size(text);
    if (!value) throw CLI::ValidationError(name, fmt::format("'{}' is no size; write it like 512MiB or 2GiB", text));
  };
  return app_.add_option_function<std::string>(name, set, help)->type_name("BYTES");
}

std::string CommandLine::unknown_option(const Arguments& arguments) const {
  for (const std::string& argument : arguments) {
    // Arguments after "--" are not options, even if they begin with a dash.
    if (argument == "--") break;
    if (argument.size() < 2 || argument[0] != '-') continue;
    // Negative numbers are not options. The cast is needed because isalpha() of a negative char, as
    // in UTF-8, is undefined.
    const auto second = static_cast<unsigned char>(argument[1]);
    if (second != '-' && std::isalpha(second) == 0) continue;
    const std::string name = argument.substr(0, argument.find('='));
    if (app_.get_option_no_throw(name) == nullptr) return name;
  }
  return {};
}

std::optional<int> CommandLine::parse(const Arguments& arguments, const Console& console) {
  // Before CLI11 parses, since it would report a missing option although a mistyped one is the
  // cause.
  if (const std::string name = unknown_option(arguments); !name.empty()) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app_.get_options()) {
      for (const std::string& known : option->get_lnames()) names.push_back("--" + known);
    }
    return misuse(fmt::format("has no option '{}'{}", name, suggestion_text(name, names)), console);
  }
  try {
    // CLI11 expects the arguments in reverse order.
    app_.parse(Arguments(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    fmt::print(console.out, "{}", app_.help());
    return kDone;
  } catch (const CLI::ExtrasError&) {
    return misuse("was given more arguments than it takes", console);
  } catch (const CLI::ParseError& e) {
    return misuse(fmt::format("failed: {}", e.what()), console);
  }
  return std::nullopt;
}

int CommandLine::misuse(std::string_view what, const Console& console) const {
  fmt::print(console.err, "forebay: '{}' {}; see 'forebay {} --help'.\n", verb_, what, verb_);
  return kMisuse;
}

}  // namespace forebay
