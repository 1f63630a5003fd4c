#include "loader/peers/distributed.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <vector>

#include "telemetry/log.h"

namespace forebay {
namespace {

Environment with(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  };
}

void expect_rank_info(const Result<RankInfo>& rank_info, int rank, int world_size, int local_ranks) {
  ASSERT_TRUE(rank_info.ok()) << rank_info.status().to_string();
  EXPECT_EQ(rank_info->rank, rank);
  EXPECT_EQ(rank_info->world_size, world_size);
  EXPECT_EQ(rank_info->local_ranks, local_ranks);
}

TEST(Distributed, defaults_to_a_single_rank) { expect_rank_info(find_rank_info({}, {}, with({})), 0, 1, 1); }

TEST(Distributed, reads_the_variables_of_every_launcher) {
  expect_rank_info(find_rank_info({}, {}, with({{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_WORLD_SIZE", "4"}})), 3, 8,
                   4);
  expect_rank_info(
      find_rank_info(
          {}, {},
          with({{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "6"}, {"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS_PER_NODE", "2"}})),
      5, 6, 2);
  expect_rank_info(find_rank_info({}, {}, with({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}})), 1, 2,
                   1);
  expect_rank_info(find_rank_info({}, {}, with({{"PMI_RANK", "0"}, {"PMI_SIZE", "3"}, {"MPI_LOCALNRANKS", "3"}})), 0, 3,
                   3);
}

// srun without --ntasks-per-node sets only the list of its step, in Slurm's notation.
TEST(Distributed, slurm_lists_the_tasks_of_each_node) {
  const auto local = [](const char* list, const char* node) {
    return find_rank_info({}, {},
                          with({{"SLURM_PROCID", "5"},
                                {"SLURM_NTASKS", "12"},
                                {"SLURM_STEP_ID", "0"},
                                {"SLURM_STEP_TASKS_PER_NODE", list},
                                {"SLURM_NODEID", node}}))
        ->local_ranks;
  };
  EXPECT_EQ(local("4(x2),3,1", "0"), 4);
  EXPECT_EQ(local("4(x2),3,1", "1"), 4);
  EXPECT_EQ(local("4(x2),3,1", "2"), 3);
  EXPECT_EQ(local("4(x2),3,1", "3"), 1);
  EXPECT_EQ(local("6(x2)", "1"), 6);
  for (const auto& [list, node] : {std::pair("4(x2),3,1", "4"),
                                   {"4", "-1"},
                                   {"4", "x"},
                                   {"", "0"},
                                   {"x", "0"},
                                   {"4(x", "0"},
                                   {"4(x)", "0"},
                                   {"4(x0)", "0"},
                                   {"0", "0"},
                                   {",4", "0"},
                                   {"99999999999", "0"}})
    EXPECT_EQ(local(list, node), 1) << list << " at " << node;
}

// Each host tells its ranks its own number of local ranks, which may differ. Only numbers that are
// the same for all ranks count.
TEST(Distributed, the_number_of_hosts_is_used_if_all_ranks_get_the_same) {
  const auto hosts = [](const std::map<std::string, std::string>& variables, std::optional<int> world = {}) {
    return find_rank_info(world ? std::optional(0) : std::nullopt, world, with(variables))->hosts;
  };
  std::map<std::string, std::string> torchrun = {{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_WORLD_SIZE", "4"}};
  EXPECT_EQ(hosts(torchrun), 0);
  torchrun["GROUP_WORLD_SIZE"] = "2";
  EXPECT_EQ(hosts(torchrun), 2);
  EXPECT_EQ(hosts(torchrun, 8), 2);
  EXPECT_EQ(hosts(torchrun, 4), 0);  // not the launcher's job
  for (const char* odd : {"3", "0", "-2", "x", "16"}) {
    torchrun["GROUP_WORLD_SIZE"] = odd;
    EXPECT_EQ(hosts(torchrun), 0) << odd;
  }
  EXPECT_EQ(
      hosts({{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "6"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_NODES", "3"}}), 3);
  EXPECT_EQ(hosts({{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}}),
            0);
}

TEST(Distributed, the_job_name_identifies_one_start_of_the_job) {
  std::map<std::string, std::string> variables = {
      {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_STEP_ID", "0"}, {"SLURM_JOB_ID", "17"}};
  const auto job = [&](std::optional<int> rank = {}, std::optional<int> world = {}) {
    return find_rank_info(rank, world, with(variables))->job;
  };
  EXPECT_EQ(job(), "17.0.0");
  EXPECT_EQ(job(0, 2), "");  // ranks may have been started one by one
  variables["SLURM_RESTART_COUNT"] = "3";
  EXPECT_EQ(job(), "17.0.3");
  variables["SLURM_HET_SIZE"] = "2";
  EXPECT_EQ(job(), "");
  // mpirun starts its processes in a different step on each host.
  variables.merge(std::map<std::string, std::string>{
      {"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_NAMESPACE", "4711"}});
  EXPECT_EQ(job(), "4711");
  variables.merge(
      std::map<std::string, std::string>{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"TORCHELASTIC_RUN_ID", "night"}});
  EXPECT_EQ(job(), "night");
  EXPECT_EQ(find_rank_info({}, {}, with({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}))->job, "");
}

TEST(Distributed, torchrun_inside_slurm_takes_precedence) {
  expect_rank_info(
      find_rank_info({}, {}, with({{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}})),
      1, 2, 1);
}

TEST(Distributed, a_launcher_with_one_of_two_variables_is_ignored) {
  expect_rank_info(find_rank_info({}, {}, with({{"RANK", "3"}})), 0, 1, 1);
  expect_rank_info(find_rank_info({}, {}, with({{"RANK", "3"}, {"WORLD_SIZE", ""}})), 0, 1, 1);
  expect_rank_info(
      find_rank_info({}, {},
                     with({{"WORLD_SIZE", "3"}, {"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_STEP_ID", "0"}})),
      1, 2, 1);
}

// Variables as Slurm 22.05 and Open MPI set them. Processes on the first node have those of the
// script; processes on other nodes have those of the step with which mpirun started them.
TEST(Distributed, mpirun_inside_slurm_takes_precedence) {
  const std::map<std::string, std::string> script = {
      {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}, {"SLURM_NNODES", "2"}};
  const std::map<std::string, std::string> step = {{"SLURM_PROCID", "0"},
                                                   {"SLURM_NTASKS", "1"},
                                                   {"SLURM_STEP_ID", "1"},
                                                   {"SLURM_STEP_NUM_NODES", "1"},
                                                   {"SLURM_STEP_TASKS_PER_NODE", "1"}};
  for (const auto& slurm : {script, step}) {
    std::map<std::string, std::string> both = slurm;
    both.insert({{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
    expect_rank_info(find_rank_info({}, {}, with(both)), 3, 4, 2);
    both = slurm;
    both.insert({{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}});
    expect_rank_info(find_rank_info({}, {}, with(both)), 2, 4, 1);
  }
  // srun --mpi=pmi2: both agree, and Slurm also gives the hosts.
  const auto rank_info = find_rank_info({}, {},
                                        with({{"PMI_RANK", "2"},
                                              {"PMI_SIZE", "4"},
                                              {"SLURM_PROCID", "2"},
                                              {"SLURM_NTASKS", "4"},
                                              {"SLURM_STEP_ID", "0"},
                                              {"SLURM_STEP_NUM_NODES", "2"},
                                              {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                                              {"SLURM_NODEID", "1"}}));
  expect_rank_info(rank_info, 2, 4, 2);
  EXPECT_EQ(rank_info->hosts, 2);
}

TEST(Distributed, the_script_of_a_slurm_job_is_warned_about) {
  std::vector<std::string> lines;
  set_log_sink([&](const std::string& line) { lines.push_back(line); });
  const std::map<std::string, std::string> script = {
      {"SLURM_JOB_ID", "7"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}};
  expect_rank_info(find_rank_info({}, {}, with(script)), 0, 1, 1);
  expect_rank_info(find_rank_info(1, 2, with(script)), 1, 2, 1);
  set_log_sink(nullptr);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("SLURM_NTASKS is '4' but SLURM_STEP_ID is not set"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("srun"), std::string::npos) << lines[0];
}

// Each variable of each launcher in turn has values that are not numbers, while the others are
// valid.
TEST(Distributed, an_invalid_number_names_its_variable) {
  const std::vector<std::array<std::string, 3>> launchers = {
      {"RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE"},
      {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE"},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE"},
      {"PMI_RANK", "PMI_SIZE", "MPI_LOCALNRANKS"}};
  for (const auto& names : launchers) {
    for (const std::string& bad : names) {
      for (const char* text : {"x", "1abc", "1.0", "1e0", "0x1", "+1", "--1", "1 2", "2147483648",
                               "99999999999999999999", "one", "1,2", "NaN", "\xc2\xb9"}) {
        std::map<std::string, std::string> variables = {
            {names[0], "0"}, {names[1], "4"}, {names[2], "1"}, {"SLURM_STEP_ID", "0"}};
        variables[bad] = text;
        const Result<RankInfo> rank_info = find_rank_info({}, {}, with(variables));
        EXPECT_EQ(rank_info.status().code(), Code::kInvalidArgument) << bad << "=" << text;
        EXPECT_NE(rank_info.status().message().find(bad + " is '" + text + "'"), std::string::npos)
            << rank_info.status().message();
        EXPECT_FALSE(find_rank_info(1, {}, with(variables)).ok());
        expect_rank_info(find_rank_info(1, 2, with(variables)), 1, 2, 1);
      }
    }
  }
}

TEST(Distributed, blanks_around_a_number_are_ignored) {
  expect_rank_info(find_rank_info({}, {}, with({{"RANK", " 3\n"}, {"WORLD_SIZE", "8\r\n"}})), 3, 8, 1);
}

TEST(Distributed, arguments_take_precedence_over_variables) {
  const Environment torchrun = with({{"RANK", "3"}, {"WORLD_SIZE", "8"}});
  expect_rank_info(find_rank_info(1, 2, torchrun), 1, 2, 1);
  expect_rank_info(find_rank_info(5, {}, torchrun), 5, 8, 1);
  expect_rank_info(find_rank_info({}, 1, torchrun), 0, 1, 1);
  expect_rank_info(find_rank_info({}, 8, torchrun), 3, 8, 1);
}

TEST(Distributed, contradicting_ranks_and_sizes_are_refused) {
  EXPECT_EQ(find_rank_info({}, 4, with({})).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(find_rank_info(2, 2, with({})).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(find_rank_info(-1, 2, with({})).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(find_rank_info(1, {}, with({})).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(find_rank_info(0, 0, with({})).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(find_rank_info({}, {}, with({{"RANK", "8"}, {"WORLD_SIZE", "8"}})).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(find_rank_info({}, {}, with({{"RANK", "-1"}, {"WORLD_SIZE", "8"}})).status().code(),
            Code::kInvalidArgument);
}

TEST(Distributed, impossible_local_ranks_are_ignored) {
  expect_rank_info(find_rank_info({}, {}, with({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "64"}})), 0, 2,
                   1);
  expect_rank_info(find_rank_info({}, {}, with({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_WORLD_SIZE", "0"}})), 0, 2,
                   1);
}

}  // namespace
}  // namespace forebay
