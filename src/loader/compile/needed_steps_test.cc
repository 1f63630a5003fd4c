#include "loader/compile/needed_steps.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "forebay/pipeline.h"
#include "loader/describe/check.h"

namespace forebay {
namespace {

using Names = std::vector<std::string>;

Field scalar(std::string name) {
  Field field;
  field.name = std::move(name);
  field.dtype = DType::kFloat32;
  return field;
}

Schema scalars(const Names& names) {
  Schema schema;
  for (const std::string& name : names) schema.push_back(scalar(name));
  return schema;
}

/// A pipeline over a table, which is never read.
Pipeline table() { return parquet("a.parquet"); }

NeededSteps needed_of(const Pipeline& pipeline, const Schema& source, const Names& wanted, bool only_wanted = false) {
  const Description& description = pipeline.description();
  const Inference inference = infer(description, source, catalog());
  for (const Problem& problem : inference.problems) ADD_FAILURE() << problem.op << ": " << problem.message;
  return needed_steps(description, description.steps().size(), inference, LiveFields(wanted), catalog(),
                      [&](const LiveFields& first) {
                        Schema given;
                        for (const Field& field : source)
                          if (!only_wanted || first.contains(field.name)) given.push_back(field);
                        return given;
                      });
}

Names steps_of(const NeededSteps& needed) {
  Names steps;
  for (size_t i = 1; i < needed.description.steps().size(); ++i) {
    const OpSpec& step = needed.description.steps()[i];
    steps.push_back(step.name + step.args.dump());
  }
  return steps;
}

Names needed(const Pipeline& pipeline, const Names& wanted) {
  return steps_of(needed_of(pipeline, scalars({"a", "b", "c"}), wanted));
}

TEST(NeededSteps, leave_out_steps_whose_results_are_never_read) {
  const Pipeline pipeline = table().log1p({"a"}).clip({.min = 0, .field = {"b"}});
  EXPECT_EQ(needed(pipeline, {"a"}), Names{R"(log1p{"field":"a"})"});
  EXPECT_EQ(needed(pipeline, {"b"}).size(), 1u);
  EXPECT_EQ(needed(pipeline, {"c"}), Names{});
  EXPECT_EQ(needed(pipeline, {"a", "b"}).size(), 2u);
}

TEST(NeededSteps, are_restricted_to_the_fields_that_are_read) {
  EXPECT_EQ(needed(table().log1p({"a", "b", "c"}), {"c", "a"}), Names{R"(log1p{"field":["a","c"]})"});
  EXPECT_EQ(needed(table().select({"a", "b"}), {"b"}), Names{R"(select{"fields":["b"]})"});
}

TEST(NeededSteps, follow_a_field_through_all_of_its_names) {
  const Pipeline pipeline =
      table().log1p({"a"}).rename({{"a", "x"}}).clip({.min = 0, .field = {"x"}}).rename({{"x", "y"}});
  EXPECT_EQ(needed(pipeline, {"y"}).size(), 4u);
  EXPECT_EQ(needed(pipeline, {"b"}), Names{});
  // After the renaming, b has the values of a.
  EXPECT_EQ(needed(table().log1p({"a"}).rename({{"a", "b"}, {"b", "a"}}), {"b"}).front(), R"(log1p{"field":"a"})");
  EXPECT_EQ(needed(table().log1p({"a"}).rename({{"a", "b"}, {"b", "a"}}), {"a"}).size(), 1u) << "the exchange alone";
}

// b would move out of the way of the new b, to a name that c has left. Only the new b is read.
TEST(NeededSteps, rename_no_field_that_had_to_go_already) {
  const Pipeline pipeline = table().rename({{"c", "e"}}).rename({{"a", "b"}, {"b", "c"}});
  EXPECT_EQ(needed(pipeline, {"b"}), (Names{R"(select{"fields":["a"]})", R"(rename{"names":{"a":"b"}})"}));
  const Inference whole = infer(pipeline.select({"b"}).description(), scalars({"a", "b", "c"}), catalog());
  EXPECT_TRUE(whole.problems.empty());
}

TEST(NeededSteps, rename_no_field_that_a_stack_took_the_place_of) {
  const Pipeline pipeline =
      table().stack({"a", "b"}, "x").rename({{"c", "b"}, {"x", "c"}}).rename({{"c", "b"}, {"b", "e"}});
  EXPECT_EQ(steps_of(needed_of(pipeline, scalars({"a", "b", "c"}), {"b"}, true)),
            (Names{R"(stack{"fields":["a","b"],"name":"x"})", R"(rename{"names":{"x":"c"}})",
                   R"(rename{"names":{"c":"b"}})"}));
}

TEST(NeededSteps, of_a_stack_include_all_of_its_inputs) {
  const Pipeline pipeline = table().log1p({"a"}).clip({.min = 0, .field = {"b"}}).stack({"a", "b"}, "both");
  EXPECT_EQ(needed(pipeline, {"both"}).size(), 3u);
  EXPECT_EQ(needed(pipeline, {"c"}), Names{});
}

TEST(NeededSteps, keep_a_function_that_runs_for_what_it_may_find_bad) {
  const MapFunction nothing = [](Sample&) { return Status(); };
  const Pipeline named = table().log1p({"a"}).log1p({"b"}).map(nothing, {.fields = {"a"}});
  EXPECT_EQ(needed(named, {"c"}).size(), 2u) << "the function, and what it looks at";
  const Pipeline unnamed = table().log1p({"a"}).log1p({"b"}).map(nothing);
  EXPECT_EQ(needed(unnamed, {"c"}).size(), 3u) << "it may look at anything";
}

TEST(NeededSteps, leave_out_what_decides_only_which_samples_come_and_how) {
  const Pipeline pipeline = table().shuffle().take(10).log1p({"a"});
  EXPECT_EQ(needed(pipeline, {"a"}), Names{R"(log1p{"field":"a"})"});
}

TEST(NeededSteps, say_of_each_which_step_of_the_users_it_is_and_what_is_wanted_behind_it) {
  const NeededSteps steps =
      needed_of(table().log1p({"b"}).log1p({"a"}).rename({{"a", "x"}}), scalars({"a", "b"}), {"x"});
  EXPECT_EQ(steps.steps, (std::vector<size_t>{0, 2, 3}));
  ASSERT_EQ(steps.live.size(), 3u);
  EXPECT_TRUE(steps.live[0].contains("a"));
  EXPECT_FALSE(steps.live[0].contains("b"));
  EXPECT_TRUE(steps.live[2].contains("x"));
}

TEST(LiveFields, of_what_user_code_may_add_to_is_whatever_there_is) {
  Schema open = scalars({"a"});
  open.open_ended = true;
  EXPECT_TRUE(LiveFields(open).is_unbounded());
  EXPECT_TRUE(LiveFields(open).contains("anything"));
  EXPECT_FALSE(LiveFields(scalars({"a"})).contains("anything"));
}

// ---- random pipelines

// Each field as a formula of the source's fields.
using Formulas = std::map<std::string, std::string>;

Formulas reckoned(const Description& description, const Schema& source) {
  Formulas now;
  for (const Field& field : source) now[field.name] = field.name;
  for (size_t i = 1; i < description.steps().size(); ++i) {
    const OpSpec& step = description.steps()[i];
    const auto names = [&](const char* arg) { return field_list(step.args.value(arg, Json())); };
    if (step.name == "select") {
      const Names kept = names("fields");
      std::erase_if(now, [&](const auto& one) { return std::ranges::find(kept, one.first) == kept.end(); });
    } else if (step.name == "rename") {
      const Formulas before = now;
      for (const auto& [from, to] : step.args["names"].items()) now.erase(from);
      for (const auto& [from, to] : step.args["names"].items()) now[to.get<std::string>()] = before.at(from);
    } else if (step.name == "stack") {
      std::string all;
      for (const std::string& name : names("fields")) all += now.at(name) + ",";
      for (const std::string& name : names("fields")) now.erase(name);
      now[step.args["name"].get<std::string>()] = "[" + all + "]";
    } else {
      for (const std::string& name : names("field")) now.at(name) = step.name + "(" + now.at(name) + ")";
    }
  }
  return now;
}

class RandomPipelines {
 public:
  explicit RandomPipelines(uint32_t seed) : random_(seed) {}

  /// Returns a pipeline of random steps that are legal at their places.
  Pipeline next(const Schema& source, size_t most) {
    Pipeline pipeline = table();
    for (size_t step = random_() % (most + 1); step > 0; --step) {
      const Pipeline longer = with_step(pipeline, infer(pipeline.description(), source, catalog()).schemas.back());
      if (infer(longer.description(), source, catalog()).problems.empty()) pipeline = longer;
    }
    return pipeline;
  }

  Names some_of(const Schema& schema) {
    Names names;
    for (const Field& field : schema) names.push_back(field.name);
    std::shuffle(names.begin(), names.end(), random_);
    names.resize(1 + random_() % names.size());
    return names;
  }

 private:
  Pipeline with_step(const Pipeline& pipeline, const Schema& here) {
    switch (random_() % 6) {
      case 0: return pipeline.select(some_of(here));
      case 1:
      case 2: {
        std::map<std::string, std::string> names;
        for (const std::string& name : some_of(here))
          names[name] = std::string(1, static_cast<char>('a' + random_() % 6));
        return pipeline.rename(names);
      }
      case 3: return pipeline.stack(some_of(here), std::string(1, static_cast<char>('a' + random_() % 6)));
      case 4: return pipeline.log1p(some_of(here));
      default: return pipeline.clip({.min = 0, .field = some_of(here)});
    }
  }

  std::mt19937 random_;
};

// The source gives all its fields, or only the wanted ones. Either way, the wanted fields have the
// values that the whole pipeline gives them, and the reduced pipeline is legal.
TEST(NeededSteps, of_any_pipeline_give_the_same_wanted_fields) {
  const Schema source = scalars({"a", "b", "c", "d"});
  RandomPipelines random(1);
  size_t left_out = 0;
  for (int trial = 0; trial < 6000; ++trial) {
    const Pipeline pipeline = random.next(source, 8);
    const Schema end = infer(pipeline.description(), source, catalog()).schemas.back();
    const Names wanted = random.some_of(end);
    const Formulas whole = reckoned(pipeline.description(), source);
    for (const bool only_wanted : {false, true}) {
      SCOPED_TRACE(std::to_string(trial) + ": " + pipeline.to_string() + (only_wanted ? " reading little" : ""));
      const NeededSteps steps = needed_of(pipeline, source, wanted, only_wanted);
      Schema given;
      for (const Field& field : source)
        if (!only_wanted || steps.live[0].contains(field.name)) given.push_back(field);
      const Inference inferred = infer(steps.description, given, catalog());
      for (const Problem& problem : inferred.problems) FAIL() << problem.op << ": " << problem.message;
      const Formulas little = reckoned(steps.description, given);
      for (const std::string& name : wanted) ASSERT_EQ(little.at(name), whole.at(name)) << name;
      ASSERT_EQ(steps.steps.size(), steps.description.steps().size());
      ASSERT_EQ(steps.live.size(), steps.description.steps().size());
      left_out += pipeline.description().steps().size() > steps.steps.size() ? 1 : 0;
    }
  }
  EXPECT_GT(left_out, 500u) << "there is something to leave out in many of them";
}

}  // namespace
}  // namespace forebay
