# ruff: noqa: I001 - grouped by workflow, which is the order of the reference

# Robot and logs
from .model.robot import Robot as Robot
from .model.catalog import load_robot as load_robot
from .pipeline.build_robot import build_robot as build_robot
from .model.perturb import perturb as perturb
from .pipeline.check import check as check
from .dynamics.base_parameters import base_parameters as base_parameters
from .dynamics.textbook_base import textbook_base as textbook_base
from .dynamics.dynamics import joint_torque as joint_torque
from .dynamics.dynamics import rigid_body_torque as rigid_body_torque
from .dynamics.dynamics import gravity_torque as gravity_torque
from .dynamics.dynamics import mass_matrix as mass_matrix
from .dynamics.dynamics import coriolis as coriolis
from .dynamics.dynamics import forward_dynamics as forward_dynamics
from .dynamics.dynamics import torque_regressor as torque_regressor
from .kinematics.forward import link_poses as link_poses
from .kinematics.forward import tip_pose as tip_pose
from .kinematics.forward import tip_jacobian as tip_jacobian
from .measurement.log import Log as Log
from .measurement.motion import Motion as Motion
from .importing.reading import read_log as read_log
from .importing.reading import read_logs as read_logs
from .importing.reading import Logs as Logs
from .importing.importer import import_log as import_log
from .importing.import_map import ImportMap as ImportMap
from .importing.import_map import load_map as load_map

# Design and simulation
from .pipeline.config import StudyConfig as StudyConfig
from .pipeline.config import load_config as load_config
from .pipeline.build import build_setup as build_setup
from .pipeline.build import Setup as Setup
from .pipeline.study import run_study as run_study
from .pipeline.study import Study as Study
from .pipeline.design import design as design
from .excitation.optimal import optimal_design as optimal_design
from .excitation.design import random_design as random_design
from .excitation.space import FourierOptions as FourierOptions
from .trajectory.fourier import FourierTrajectory as FourierTrajectory
from .trajectory.reference import PointToPoint as PointToPoint
from .pipeline.deploy import deploy as deploy
from .pipeline.simulate import simulate as simulate
from .experiment.rollout import Cell as Cell
from .engine.plant import Plant as Plant
from .experiment.rollout import rollout as rollout
from .measurement.sensors import measure as measure
from .measurement.encoder_sensors import EncoderNoise as EncoderNoise
from .measurement.encoder_sensors import EncoderQuantization as EncoderQuantization
from .measurement.torque_sensors import TorqueNoise as TorqueNoise
from .measurement.torque_sensors import TorqueDelay as TorqueDelay

# Identification
from .pipeline.identify import identify as identify
from .pipeline.identification import Identification as Identification
from .estimation.estimate import Estimate as Estimate
from .estimation.problem import LinearProblem as LinearProblem
from .estimation.problem import build_problem as build_problem
from .estimation.least_squares import OrdinaryLeastSquares as OrdinaryLeastSquares
from .estimation.least_squares import WeightedLeastSquares as WeightedLeastSquares
from .estimation.consistent import Consistent as Consistent
from .estimation.consistent import make_consistent as make_consistent
from .estimation.reduction import cramer_rao as cramer_rao
from .preprocess.adaptive import Adaptive as Adaptive
from .preprocess.kalman_torque import KalmanTorque as KalmanTorque
from .preprocess.kalman_torque import FivePointCubic as FivePointCubic
from .preprocess.linear_filters import Butterworth as Butterworth
from .preprocess.rts import RtsSmoother as RtsSmoother
from .pipeline.payload import payload as payload

# Judgement
from .pipeline.assess import assess as assess
from .pipeline.assess import Assessment as Assessment
from .pipeline.assess import diagnose as diagnose
from .pipeline.predict import predict as predict
from .pipeline.predict import SavedEstimate as SavedEstimate
from .pipeline.validate import validate as validate
from .pipeline.compare import compare as compare
from .pipeline.certificate import certify as certify
from .papers.reproduce import reproduce as reproduce
from .campaign.plan import load_plan as load_plan
from .campaign.run import run_campaign as run_campaign
from .campaign.outcome import CampaignResult as CampaignResult
from .plotting import plot as plot

# Control
from .validation.closed_loop import run_closed_loops as run_closed_loops
from .validation.comparison import Comparison as Comparison
from .control.gains import LoopGains as LoopGains
from .control.sliding_mode import SlidingMode as SlidingMode
from .control.linear_feedback import ComputedTorque as ComputedTorque
from .control.linear_feedback import GravityPd as GravityPd
from .experiment.scenario import Scenario as Scenario
from .experiment.scenario import Sinusoidal as Sinusoidal
from .tasks.path import Lap as Lap
from .tasks.path import fastest_lap as fastest_lap
from .tasks.path import make_tracking_path as make_tracking_path

# Optimization and own parts
from .optim.minimize import minimize as minimize
from .optim.optimizer import OPTIMIZERS as OPTIMIZERS
from .estimation import ESTIMATORS as ESTIMATORS
from .preprocess import PREPROCESSORS as PREPROCESSORS
from .measurement import SENSORS as SENSORS
from .control import CONTROLLERS as CONTROLLERS
from .excitation import CRITERIA as CRITERIA
from .parts import register as register
from .plugins import load_plugins as load_plugins

# Files and progress
from .measurement.files import load_log as load_log
from .measurement.files import save_log as save_log
from .model.export import write_urdf as write_urdf
from .pipeline.export import export as export
from .progress_display import progress_line as progress_line
from .errors import RobotIdError as RobotIdError
