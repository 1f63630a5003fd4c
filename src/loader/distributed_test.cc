#include "loader/distributed.h"

#include <gtest/gtest.h>

#include <map>

namespace forebay {
namespace {

Environment with(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

void expect_place(const Result<Place>& place, int rank, int world_size, int local_ranks) {
  ASSERT_TRUE(place.ok()) << place.status().to_string();
  EXPECT_EQ(place->rank, rank);
  EXPECT_EQ(place->world_size, world_size);
  EXPECT_EQ(place->local_ranks, local_ranks);
}

TEST(Distributed, alone_unless_told) { expect_place(find_place({}, {}, with({})), 0, 1, 1); }

TEST(Distributed, every_launcher_is_understood) {
  expect_place(find_place({}, {}, with({{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_WORLD_SIZE", "4"}})), 3, 8, 4);
  expect_place(find_place({}, {}, with({{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "6"}, {"SLURM_NTASKS_PER_NODE", "2"}})),
               5, 6, 2);
  expect_place(find_place({}, {}, with({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}})), 1, 2, 1);
  expect_place(find_place({}, {}, with({{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}, {"MPI_LOCALNRANKS", "3"}})), 0, 3, 3);
}

TEST(Distributed, torchrun_inside_slurm_counts) {
  expect_place(
      find_place({}, {}, with({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}})), 1,
      2, 1);
}

TEST(Distributed, half_a_launcher_is_none) {
  expect_place(find_place({}, {}, with({{"RANK", "3"}})), 0, 1, 1);
  expect_place(find_place({}, {}, with({{"RANK", "x"}, {"WORLD_SIZE", "4"}})), 0, 1, 1);
}

TEST(Distributed, what_is_given_counts) {
  const Environment torchrun = with({{"RANK", "3"}, {"WORLD_SIZE", "8"}});
  expect_place(find_place(1, 2, torchrun), 1, 2, 1);
  expect_place(find_place(5, {}, torchrun), 5, 8, 1);
  expect_place(find_place({}, 1, torchrun), 0, 1, 1);
  expect_place(find_place({}, 8, torchrun), 3, 8, 1);
}

TEST(Distributed, contradictions_are_refused) {
  EXPECT_EQ(find_place({}, 4, with({})).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(find_place(2, 2, with({})).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(find_place(-1, 2, with({})).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(find_place(1, {}, with({})).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(find_place(0, 0, with({})).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(find_place({}, {}, with({{"RANK", "8"}, {"WORLD_SIZE", "8"}})).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(find_place({}, {}, with({{"RANK", "-1"}, {"WORLD_SIZE", "8"}})).status().code(), Code::kInvalidArgument);
}

TEST(Distributed, nonsense_about_local_ranks_is_left_aside) {
  expect_place(find_place({}, {}, with({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "64"}})), 0, 2, 1);
  expect_place(find_place({}, {}, with({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "0"}})), 0, 2, 1);
}

}  // namespace
}  // namespace forebay
