// Tests SharedLoader against a server of the same process: everything that a loop, a checkpoint or
// a report asks of a loader is answered as by a Loader here.
#include "forebay/shared_loader.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>

#include <gtest/gtest.h>

#include "pipeline/op_spec.h"
#include "serve/server/serve_test_support.h"
#include "serve/wire/portable_object.h"

namespace forebay {
namespace {

using serve_test::Data;
using serve_test::digest_of;
using serve_test::epoch_of;
using serve_test::Running;
using serve_test::shared;

std::unique_ptr<Loader> own(const Data& data, LoaderOptions options = {}) {
  return std::move(*Loader::open(data.pipeline(), std::move(options)));
}

/// Takes batches and ends of epochs from both loaders, and expects them to be the same.
void step_both(BatchLoader& a, BatchLoader& b, int steps) {
  for (int i = 0; i < steps; ++i) {
    const auto x = a.next(), y = b.next();
    ASSERT_TRUE(x.ok() && y.ok()) << x.status().to_string() << y.status().to_string();
    ASSERT_EQ(x->has_value(), y->has_value()) << i;
    if (x->has_value()) {
      ASSERT_EQ((*x)->ids, (*y)->ids) << i;
      ASSERT_EQ((*x)->step, (*y)->step) << i;
    }
    ASSERT_EQ(a.state(), b.state()) << i;
  }
}

TEST(SharedLoader, reports_the_same_as_a_loader) {
  const Data data;
  Running server(data.socket());
  const auto here = own(data);
  const auto there = shared(data, data.pipeline());
  EXPECT_TRUE(there->prepare().ok());
  EXPECT_EQ(there->size(), here->size());
  EXPECT_EQ(there->fingerprint(), here->fingerprint());
  EXPECT_EQ(there->batches_per_epoch(), here->batches_per_epoch());
  EXPECT_EQ(there->rank(), here->rank());
  EXPECT_EQ(there->world_size(), here->world_size());
  EXPECT_EQ(there->classes(), here->classes());
  EXPECT_EQ(there->row_groups(), here->row_groups());
  EXPECT_EQ(there->warnings().size(), here->warnings().size());
  ASSERT_EQ(there->source_fields().size(), here->source_fields().size());
  EXPECT_EQ(there->source_fields()[0].name, here->source_fields()[0].name);
  EXPECT_EQ(there->pipeline().description().to_string(), data.pipeline().description().to_string());
  EXPECT_EQ(there->opened().description().steps().size(), 1U);
  EXPECT_TRUE(there->errors().empty());
  EXPECT_FALSE(there->closed());
  EXPECT_FALSE(there->finished());
}

TEST(SharedLoader, a_loop_that_breaks_off_goes_on_where_it_stopped) {
  const Data data;
  Running server(data.socket());
  const auto here = own(data);
  const auto there = shared(data, data.pipeline());
  step_both(*here, *there, 4);
  here->begin_iteration();
  there->begin_iteration();
  step_both(*here, *there, 20);
}

TEST(SharedLoader, a_loop_that_ends_at_the_last_batch_does_not_see_the_end_twice) {
  const Data data;
  Running server(data.socket());
  const auto here = own(data);
  const auto there = shared(data, data.pipeline());
  step_both(*here, *there, 15);
  for (int epoch = 1; epoch < 3; ++epoch) {
    here->begin_iteration();
    there->begin_iteration();
    step_both(*here, *there, 15);
    EXPECT_EQ(there->epoch(), epoch + 1);
  }
}

TEST(SharedLoader, an_evaluation_begins_again_unless_a_state_was_loaded) {
  const Data data;
  Running server(data.socket());
  const auto here = own(data, {.restart = true});
  const auto there = shared(data, data.pipeline(), {.restart = true});
  for (BatchLoader* each : {static_cast<BatchLoader*>(here.get()), static_cast<BatchLoader*>(there.get())}) {
    std::vector<int64_t> first;
    for (int round = 0; round < 3; ++round) {
      each->begin_iteration();
      const auto batch = each->next();
      ASSERT_TRUE(batch.ok() && batch->has_value());
      EXPECT_EQ((*batch)->step, 0);
      for (int i = 0; i < 3; ++i) ASSERT_TRUE(each->next().ok());
    }
    const std::string state = each->state();
    ASSERT_TRUE(each->load_state(state).ok());
    each->begin_iteration();
    EXPECT_EQ((**each->next()).step, 4);
  }
}

TEST(SharedLoader, goes_to_an_epoch_from_anywhere) {
  const Data data;
  Running server(data.socket());
  const auto here = own(data);
  const auto there = shared(data, data.pipeline());
  for (const int64_t epoch : {3, 3, 0, 1}) {
    ASSERT_TRUE(here->set_epoch(epoch).ok() && there->set_epoch(epoch).ok());
    EXPECT_EQ(there->epoch(), epoch);
    step_both(*here, *there, 5);
  }
  EXPECT_EQ(there->set_epoch(-1).code(), here->set_epoch(-1).code());
  step_both(*here, *there, 15);
}

TEST(SharedLoader, a_state_that_is_none_changes_nothing) {
  const Data data;
  Running server(data.socket());
  const auto here = own(data);
  const auto there = shared(data, data.pipeline());
  step_both(*here, *there, 3);
  for (const char* const state : {"", "{}", "nonsense"}) {
    const Status expected = here->load_state(state), status = there->load_state(state);
    EXPECT_EQ(status.code(), expected.code()) << state;
  }
  step_both(*here, *there, 15);
}

TEST(SharedLoader, the_end_of_all_epochs_is_the_end) {
  const Data data;
  Running server(data.socket());
  const auto here = own(data, {.epochs = 1});
  const auto there = shared(data, data.pipeline(), {.epochs = 1});
  step_both(*here, *there, 16);
  EXPECT_TRUE(there->finished());
  step_both(*here, *there, 3);
}

TEST(SharedLoader, that_is_closed_says_so_and_its_state_remains) {
  const Data data;
  Running server(data.socket());
  const auto loader = shared(data, data.pipeline());
  const auto batch = std::move(**loader->next());
  const std::string state = loader->state();
  loader->close();
  loader->close();
  EXPECT_TRUE(loader->closed());
  EXPECT_EQ(loader->next().status().code(), Code::kInvalidArgument);
  EXPECT_EQ(loader->prepare().code(), Code::kInvalidArgument);
  EXPECT_EQ(loader->set_epoch(1).code(), Code::kInvalidArgument);
  EXPECT_EQ(loader->load_state(state).code(), Code::kInvalidArgument);
  EXPECT_TRUE(loader->end_trace().ok());
  EXPECT_EQ(loader->state(), state);
  EXPECT_EQ(loader->stats().batches, 0);
  EXPECT_TRUE(loader->errors().empty());
  EXPECT_EQ(batch.ids[0], batch.fields[0].values.data<int64_t>()[0]);
}

TEST(SharedLoader, whose_server_has_gone_still_knows_its_state) {
  const Data data;
  auto server = std::make_unique<Running>(data.socket());
  const auto loader = shared(data, data.pipeline());
  std::vector<Batch> batches;
  for (int i = 0; i < 3; ++i) batches.push_back(std::move(**loader->next()));
  const std::string state = loader->state();
  server.reset();
  Status status;
  for (int i = 0; i < 3 && status.ok(); ++i) status = loader->next().status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  for (const Batch& batch : batches) EXPECT_EQ(batch.ids[0], batch.fields[0].values.data<int64_t>()[0]);
  EXPECT_EQ(loader->stats().batches, 0);
  EXPECT_EQ(loader->epoch(), 0);
  // Another server goes on from that state, whatever was delivered between it and the loss.
  Running another(data.socket());
  const auto next = shared(data, data.pipeline());
  ASSERT_TRUE(next->load_state(state).ok());
  EXPECT_EQ((**next->next()).step, 3);
}

TEST(SharedLoader, counts_and_traces_what_its_server_does) {
  const Data data;
  Running server(data.socket());
  const auto loader = shared(data, data.pipeline());
  const std::string trace = data.folder() + "/trace.json";
  ASSERT_TRUE(loader->begin_trace(trace).ok());
  ASSERT_EQ(epoch_of(*loader).size(), 15U);
  ASSERT_TRUE(loader->end_trace().ok());
  EXPECT_GT(std::filesystem::file_size(trace), 0U);
  EXPECT_GE(loader->stats().batches, 15);
  EXPECT_GE(loader->stats().samples, 100);
  EXPECT_FALSE(loader->begin_trace("/nowhere/trace.json").ok());
}

TEST(SharedLoader, in_the_child_of_a_fork_says_that_it_is_the_parent_s) {
  const Data data;
  Running server(data.socket());
  auto loader = shared(data, data.pipeline());
  const Batch batch = std::move(**loader->next());
  const pid_t child = fork();
  if (child == 0) {
    const bool refused = loader->next().status().code() == Code::kInvalidArgument && loader->closed() &&
                         loader->state().empty() && loader->prepare().code() == Code::kInvalidArgument;
    const bool readable = batch.ids[0] == batch.fields[0].values.data<int64_t>()[0];
    loader->close();
    loader.reset();
    _exit(refused && readable ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ((**loader->next()).step, 1) << "the parent goes on";
}

TEST(SharedLoader, says_what_cannot_be_shared_before_it_looks_for_a_server) {
  const Data data;
  EXPECT_EQ(SharedLoader::open(data.pipeline(), {}, {data.socket(), -1, {}}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(SharedLoader::open(data.pipeline(), {}, {"no name", 0, {}}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(SharedLoader::open(data.pipeline(), {}, {data.socket(), 0, {}}).status().code(), Code::kNotFound);
}

// A server that loads `.map(function)` behind the data, whatever code its clients name.
ServerOptions serving_code(const Data& data, const MapFunction& function, std::atomic<int>* loaders) {
  ServerOptions options;
  options.path = data.socket();
  const Pipeline pipeline = arrays({{"x", Array{{}, data.npy()}}}).shuffle().map(function).batch(7);
  options.load_code = [pipeline, loaders](const std::string& source) -> Result<UserPipeline> {
    if (source != "some code") return invalid_argument("no such code");
    return UserPipeline{pipeline, [loaders](std::unique_ptr<Loader> loader) -> Result<std::shared_ptr<Loader>> {
                          ++*loaders;
                          return std::shared_ptr<Loader>(loader.release(), [loaders](Loader* closing) {
                            --*loaders;
                            delete closing;
                          });
                        }};
  };
  return options;
}

Result<std::unique_ptr<SharedLoader>> with_code(const Data& data, const std::string& source, int together = 0) {
  return SharedLoader::open(
      data.pipeline(), {}, {.server = data.socket(), .together = together, .code = {source, "a pipeline", {".map 1"}}});
}

TEST(SharedLoader, runs_the_code_that_it_names_in_a_server_that_loads_it) {
  const Data data;
  const auto doubles = [](Sample& sample) {
    auto* const values = reinterpret_cast<int64_t*>(sample.at("x").buffer.data());
    values[0] *= 2;
    return Status();
  };
  std::atomic<int> loaders = 0;
  const std::vector<Batch> expected =
      epoch_of(**Loader::open(arrays({{"x", Array{{}, data.npy()}}}).shuffle().map(doubles).batch(7)));
  {
    Running server(serving_code(data, doubles, &loaders));
    for (const int together : {0, 2}) {
      const auto a = with_code(data, "some code", together), b = with_code(data, "some code", together);
      ASSERT_TRUE(a.ok() && b.ok()) << a.status().to_string() << b.status().to_string();
      EXPECT_EQ(digest_of(epoch_of(**a)), digest_of(expected));
      EXPECT_EQ(digest_of(epoch_of(**b)), digest_of(expected));
      EXPECT_GT(loaders, 0);
    }
    EXPECT_EQ(with_code(data, "other code").status().message(), "no such code");
  }
  EXPECT_EQ(loaders, 0) << "each loader is given back";
}

TEST(SharedLoader, loaders_of_a_group_call_a_filter_once_for_each_sample) {
  const Data data;
  std::atomic<int> loaders = 0, calls = 0;
  const Pipeline pipeline = arrays({{"x", Array{{}, data.npy()}}})
                                .shuffle()
                                .filter([&calls](const Sample& sample) {
                                  ++calls;
                                  const auto row = *reinterpret_cast<const int64_t*>(sample.at("x").buffer.data());
                                  return row == 13 ? Result<bool>(corrupt("a bad row")) : Result<bool>(row % 3 != 0);
                                })
                                .batch(7);
  const LoaderOptions skips{.errors = {.on_error = OnError::kSkip}};
  const auto here = std::move(*Loader::open(pipeline, skips));
  const std::string expected = digest_of(epoch_of(*here));
  ASSERT_EQ(calls.exchange(0), 100);
  ServerOptions options = serving_code(data, [](Sample&) { return Status(); }, &loaders);
  options.load_code = [pipeline](const std::string&) -> Result<UserPipeline> { return UserPipeline{pipeline}; };
  Running server(std::move(options));
  std::vector<std::future<std::unique_ptr<SharedLoader>>> opening;
  for (int i = 0; i < 3; ++i)
    opening.push_back(std::async(std::launch::async, [&] {
      return std::move(*SharedLoader::open(data.pipeline(), skips,
                                           {.server = data.socket(), .together = 3, .code = {"code", "a pipeline"}}));
    }));
  std::vector<std::unique_ptr<SharedLoader>> group;
  for (auto& each : opening) group.push_back(each.get());
  for (const auto& loader : group) {
    EXPECT_EQ(loader->size(), here->size());
    EXPECT_EQ(loader->fingerprint(), here->fingerprint());
    EXPECT_EQ(loader->errors().size(), 1U) << "the bad sample of the pass";
  }
  std::vector<std::future<std::string>> epochs;
  for (const auto& loader : group)
    epochs.push_back(std::async(std::launch::async, [&loader] { return digest_of(epoch_of(*loader)); }));
  for (auto& each : epochs) EXPECT_EQ(each.get(), expected);
  EXPECT_EQ(calls, 100);
}

TEST(SharedLoader, an_exception_of_a_function_arrives_as_its_bytes) {
  const Data data;
  std::atomic<int> loaders = 0;
  Running server(serving_code(
      data, [](Sample&) { return Status(Code::kUser, "ValueError: no").with_payload(portable_object("a pickle")); },
      &loaders));
  const auto loader = with_code(data, "some code");
  ASSERT_TRUE(loader.ok()) << loader.status().to_string();
  const Status status = (*loader)->next().status();
  EXPECT_EQ(status.code(), Code::kUser);
  ASSERT_TRUE(status.payload());
  const Tensor& bytes = static_cast<const PortableObject*>(status.payload().get())->bytes;
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.buffer.data()), bytes.nbytes()), "a pickle");
}

TEST(SharedLoader, a_server_without_a_language_refuses_code) {
  const Data data;
  Running server(data.socket());
  EXPECT_EQ(with_code(data, "some code").status().code(), Code::kUnsupported);
}

TEST(SharedLoader, a_stop_before_the_opening_ends_it) {
  const Data data;
  Running server(data.socket());
  std::stop_source stop;
  stop.request_stop();
  LoaderOptions options;
  options.stop = stop.get_token();
  EXPECT_EQ(SharedLoader::open(data.pipeline(), options, {data.socket(), 0, {}}).status().code(), Code::kCancelled);
}

TEST(SharedLoader, an_error_of_one_sample_arrives_in_its_place) {
  const Data data;
  const std::string folder = data.folder() + "/photos/class";
  std::filesystem::create_directories(folder);
  for (const char* const name : {"a.jpg", "b.jpg"}) std::ofstream(folder + "/" + name) << "no picture";
  const Pipeline pipeline = images(data.folder() + "/photos").decode_image().resize({8, 8}).batch(1);
  Running server(data.socket());
  const auto here = std::move(*Loader::open(pipeline));
  const auto there = shared(data, pipeline);
  for (int i = 0; i < 2; ++i) {
    const Status expected = here->next().status(), status = there->next().status();
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.to_string(), expected.to_string());
    EXPECT_EQ(status.sample(), expected.sample());
    EXPECT_EQ(there->state(), here->state());
  }
}

TEST(SharedLoader, bad_samples_that_are_skipped_are_listed) {
  const Data data;
  const std::string folder = data.folder() + "/photos/class";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/a.jpg") << "no picture";
  const Pipeline pipeline = images(data.folder() + "/photos").decode_image().resize({8, 8}).batch(1);
  Running server(data.socket());
  const auto loader = shared(data, pipeline, {.epochs = 1, .errors = {.on_error = OnError::kSkip}});
  (void)loader->next();
  const std::vector<ErrorEntry> errors = loader->errors();
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].sample, 0);
  EXPECT_NE(errors[0].key.find("a.jpg"), std::string::npos);
  EXPECT_EQ(errors[0].op, "decode_image");
}

TEST(SharedLoader, loaders_of_one_pipeline_and_two_seeds_have_orders_of_their_own) {
  const Data data;
  Running server(data.socket());
  const Pipeline a = arrays({{"x", Array{{}, data.npy()}}}).shuffle().batch(7);
  const auto first = shared(data, a, {.seed = 1}), second = shared(data, a, {.seed = 2});
  const std::string of_first = digest_of(epoch_of(*first)), of_second = digest_of(epoch_of(*second));
  const auto own_first = std::move(*Loader::open(a, {.seed = 1})),
             own_second = std::move(*Loader::open(a, {.seed = 2}));
  EXPECT_EQ(of_first, digest_of(epoch_of(*own_first)));
  EXPECT_EQ(of_second, digest_of(epoch_of(*own_second)));
}

/// A data set twice, with shares.
Pipeline mixed(const Data& data, int64_t batch = 7) {
  const Pipeline part = arrays({{"x", Array{{}, data.npy()}}}).shuffle();
  return mix({{"a", part}, {"b", part.sample({.n = 40})}}, {.weights = {{"a", 1}, {"b", 1}}, .samples = 100})
      .batch(batch);
}

TEST(SharedLoader, batches_of_parts_and_changes_of_their_weights_are_those_of_a_loader) {
  const Data data;
  Running server(data.socket());
  for (const int together : {0, 1}) {
    const auto here = std::move(*Loader::open(mixed(data))), later = std::move(*Loader::open(mixed(data)));
    const auto there = shared(data, mixed(data), {}, together);
    for (const double weight : {1, 3, 0}) {
      if (weight != 1) {
        for (BatchLoader* const loader :
             {static_cast<BatchLoader*>(here.get()), static_cast<BatchLoader*>(there.get())})
          ASSERT_TRUE(loader->set_weights({{"a", weight}, {"b", 1}}).ok());
      }
      for (int i = 0; i < 4; ++i) {
        const auto x = here->next(), y = there->next();
        ASSERT_TRUE(x.ok() && y.ok()) << x.status().to_string() << y.status().to_string();
        EXPECT_EQ((*x)->ids, (*y)->ids);
        EXPECT_EQ((*x)->parts, (*y)->parts);
        ASSERT_TRUE((*y)->part_names);
        EXPECT_EQ(*(*x)->part_names, *(*y)->part_names);
        ASSERT_EQ(here->state(), there->state());
      }
    }
    ASSERT_TRUE(later->load_state(there->state()).ok());
    step_both(*later, *there, 20);
    const Status unknown = there->set_weights({{"c", 1}});
    EXPECT_EQ(unknown.to_string(), here->set_weights({{"c", 1}}).to_string());
    EXPECT_EQ(there->stats().parts.size(), 2U);
  }
}

TEST(SharedLoader, goes_on_with_changed_parts_as_a_loader_does) {
  const Data data;
  Running server(data.socket());
  const auto before = std::move(*Loader::open(mixed(data)));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(before->next().ok());
  const Pipeline part = arrays({{"x", Array{{}, data.npy()}}}).shuffle();
  const Pipeline more = mix({{"a", part}, {"b", part.sample({.n = 40})}, {"c", part}},
                            {.weights = {{"a", 1}, {"b", 1}, {"c", 1}}, .samples = 100})
                            .batch(7);
  const auto here = std::move(*Loader::open(more));
  const auto there = shared(data, more);
  EXPECT_EQ(there->load_state(before->state()).code(), Code::kStateMismatch);
  ASSERT_TRUE(here->load_state_of_changed_parts(before->state()).ok());
  ASSERT_TRUE(there->load_state_of_changed_parts(before->state()).ok());
  step_both(*here, *there, 20);
}

TEST(SharedLoader, that_restarts_epochs_changes_weights_between_them_only) {
  const Data data;
  Running server(data.socket());
  const auto there = shared(data, mixed(data), {.restart = true});
  EXPECT_TRUE(there->set_weights({{"a", 2}, {"b", 1}}).ok());
  ASSERT_TRUE(there->next().ok());
  EXPECT_EQ(there->set_weights({{"a", 1}, {"b", 1}}).code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace forebay
