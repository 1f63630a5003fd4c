// Checks pipelines from untrusted files: whatever an argument is, check() returns problems and
// never throws.

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

#include "forebay/pipeline.h"
#include "loader/compile/cache_place.h"
#include "loader/compile/ordering.h"
#include "loader/describe/check.h"
#include "loader/describe/sources.h"
#include "loader/describe/step_arguments.h"
#include "pipeline/catalog.h"

namespace forebay {
namespace {

const std::vector<Json>& strange_values() {
  static const std::vector<Json> values = {nullptr,
                                           true,
                                           0,
                                           -1,
                                           1.5,
                                           1e300,
                                           std::numeric_limits<int64_t>::min(),
                                           std::numeric_limits<uint64_t>::max(),
                                           "",
                                           "nonsense",
                                           "é\n\"",
                                           Json::object(),
                                           Json{{"a", 1}},
                                           Json{{"a", {{"b", nullptr}}}},
                                           Json::array(),
                                           Json::array({nullptr}),
                                           Json::array({"a", 1}),
                                           Json::array({Json::array(), Json::object()}),
                                           Json::array({Json::array({"x", "==", 1})}),
                                           Json::array({1, 2, 3, 4, 5})};
  return values;
}

/// A valid step as far as possible; tests replace one argument by strange values.
OpSpec plain_step(std::string name, const std::vector<ArgDef>& args) {
  OpSpec step{std::move(name), Json::object(), nullptr, ""};
  for (const ArgDef& arg : args) {
    if (!arg.required) continue;
    switch (arg.type) {
      case ArgType::kInt:
      case ArgType::kSize: step.args[arg.name] = 3; break;
      case ArgType::kFloats: step.args[arg.name] = 0.5; break;
      case ArgType::kDType: step.args[arg.name] = "float32"; break;
      case ArgType::kPairs: step.args[arg.name] = {{"x", "y"}}; break;
      default: step.args[arg.name] = "x";
    }
  }
  return step;
}

/// Calls everything that uses a description before anything is opened.
void look_at_everything(const Description& description) {
  for (const Problem& problem : check(description)) {
    EXPECT_FALSE(problem.op.empty());
    EXPECT_FALSE(problem.message.empty()) << problem.op;
    EXPECT_FALSE(problem.remedy.empty()) << problem.op << ": " << problem.message;
  }
  EXPECT_FALSE(description.to_string().empty());
  description.fingerprint(catalog());
  for (size_t end = 1; end <= description.steps().size(); ++end) {
    prefix_identity(description, end);
    prefix_description(description, end);
  }
  if (!description.steps().empty()) {
    EXPECT_GE(select_unread(description, nullptr, 1000)->size(), 0);
  }
  batch_size(description);
  const auto json = description.to_json();
  if (!json.ok()) return;
  const auto back = Description::from_json(*json);
  ASSERT_TRUE(back.ok()) << back.status().to_string() << " of " << *json;
  EXPECT_EQ(back->to_string(), description.to_string());
}

TEST(StrangeArguments, of_any_operator_are_problems_with_a_remedy_or_none) {
  const OpSpec source{"images", {{"root", "photos"}}, nullptr, ""};
  for (const auto& [name, def] : catalog().ops()) {
    for (const ArgDef& arg : def.args) {
      for (const Json& strange : strange_values()) {
        SCOPED_TRACE(name + " " + arg.name + "=" + strange.dump());
        OpSpec step = plain_step(name, def.args);
        step.args[arg.name] = strange;
        look_at_everything(Description(source).append(step));
        look_at_everything(Description(source).append(step).append({"batch", {{"n", 2}}, nullptr, ""}));
      }
    }
  }
}

TEST(StrangeArguments, of_any_source_are_problems_with_a_remedy_or_none) {
  for (const SourceDef& def : sources()) {
    for (const ArgDef& arg : def.args) {
      for (const Json& strange : strange_values()) {
        SCOPED_TRACE(def.name + " " + arg.name + "=" + strange.dump());
        OpSpec step = plain_step(def.name, def.args);
        step.args[arg.name] = strange;
        look_at_everything(Description(step));
        look_at_everything(Description(step).append({"decode_image", Json::object(), nullptr, ""}));
      }
    }
  }
}

TEST(StrangeArguments, that_do_not_exist_are_reported_by_operators_and_sources_alike) {
  const OpSpec source{"images", {{"root", "photos"}}, nullptr, ""};
  const auto told = [](const Description& description) {
    std::string text;
    for (const Problem& problem : check(description)) text += problem.message + "\n";
    return text;
  };
  for (const auto& [name, def] : catalog().ops()) {
    OpSpec step = plain_step(name, def.args);
    step.args["no_such_thing"] = 1;
    EXPECT_NE(told(Description(source).append(step)).find("unknown argument 'no_such_thing'"), std::string::npos)
        << name;
  }
  for (const SourceDef& def : sources()) {
    OpSpec step = plain_step(def.name, def.args);
    step.args["no_such_thing"] = 1;
    EXPECT_NE(told(Description(step)).find("unknown argument 'no_such_thing'"), std::string::npos) << def.name;
  }
}

// Bytes of the text are changed, removed or doubled at random places.
TEST(StrangeArguments, a_description_that_was_damaged_is_refused_or_checked) {
  const std::string whole = images("photos", {.split_by = "none"})
                                .shuffle({.block = 3})
                                .decode_image({.field = {"image"}})
                                .random_resized_crop({8, 9}, {.scale = {0.1, 0.9}})
                                .color_jitter({.brightness = {0.1, 0.4}})
                                .normalize(imagenet())
                                .cache({.ram = "1GiB", .disk = uint64_t{0}})
                                .rename({{"image", "x"}})
                                .batch(4, {.last = "pad"})
                                .to_json()
                                .value();
  std::mt19937 random(1);
  int read = 0;
  for (int trial = 0; trial < 5000; ++trial) {
    std::string text = whole;
    for (int damages = 1 + static_cast<int>(random() % 3); damages > 0; --damages) {
      const size_t at = random() % text.size();
      switch (random() % 3) {
        case 0: text[at] = static_cast<char>("0123456789{}[],:\"nx-."[random() % 21]); break;
        case 1: text.erase(at, 1 + random() % 4); break;
        default: text.insert(at, text.substr(at, 1 + random() % 8));
      }
    }
    const auto description = Description::from_json(text);
    if (!description.ok()) {
      ASSERT_FALSE(description.status().message().empty());
      continue;
    }
    ++read;
    SCOPED_TRACE(text);
    if (!description->steps().empty()) look_at_everything(*description);
  }
  EXPECT_GT(read, 500) << "some damage leaves JSON behind";
}

}  // namespace
}  // namespace forebay
