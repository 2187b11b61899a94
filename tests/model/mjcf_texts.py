"""MJCF as people write it: an arm with a gripper, and one whose bodies are made of geoms."""

GRIPPER_ARM = """
<mujoco model="gripper arm">
  <compiler angle="radian" autolimits="true"/>
  <option gravity="0 0 -9.8"/>
  <default>
    <default class="arm">
      <joint armature="0.1" damping="1" frictionloss="0.3" axis="0 0 1" range="-2.9 2.9"/>
      <general biastype="affine" ctrlrange="-2.9 2.9" forcerange="-87 87"/>
      <default class="finger">
        <joint axis="0 1 0" type="slide" range="0 0.04" armature="0" damping="0"/>
      </default>
      <default class="collision"><geom type="capsule" group="3"/></default>
    </default>
  </default>
  <worldbody>
    <geom type="plane" size="1 1 0.1"/>
    <body name="link0" childclass="arm">
      <geom class="collision" size="0.06" fromto="0 0 0 0 0 0.1"/>
      <body name="link1" pos="0 0 0.333">
        <inertial mass="4.97" pos="0.0039 0.002 -0.04"
          fullinertia="0.703 0.707 0.0091 -0.00014 0.0068 0.019"/>
        <joint name="joint1"/>
        <geom type="sphere" size="0.05" contype="0" conaffinity="0" group="2" rgba="1 0 0 1"/>
        <geom class="collision" size="0.06" fromto="0 0 -0.2 0 0 0"/>
        <body name="link2" quat="1 -1 0 0">
          <inertial mass="0.647" pos="-0.003 -0.029 0.003" diaginertia="0.02 0.028 0.026"
            quat="0.9 0.1 0.3 -0.2"/>
          <joint name="joint2" range="-1.76 1.76" ref="0.4"/>
          <body name="carrier" pos="0 -0.3 0" euler="0.3 0.2 0.1">
            <geom class="collision" size="0.03" fromto="0 0 0 0.05 0 0.1" mass="0.3"/>
            <body name="link3" pos="0.02 0 0.1">
              <joint name="joint3" pos="0.03 0.01 0.2" axis="1 1 0" range="-1 1" stiffness="4"
                springref="0.3"/>
              <geom class="collision" size="0.04" fromto="0 0 0 0.1 0 0.2" mass="1.5"/>
              <site name="attachment_site" pos="0 0 0.2"/>
              <body name="left" pos="0 0 0.21">
                <joint name="finger1" class="finger"/>
                <geom type="box" size="0.01 0.01 0.03" mass="0.02"/>
              </body>
              <body name="right" pos="0 0 0.21" quat="0 0 0 1">
                <joint name="finger2" class="finger"/>
                <geom type="box" size="0.01 0.01 0.03" mass="0.02"/>
              </body>
            </body>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="split"><joint joint="finger1" coef="1"/><joint joint="finger2" coef="1"/></fixed>
  </tendon>
  <equality>
    <joint joint1="finger1" joint2="finger2"/>
    <weld name="grasp" body1="left" body2="right"/>
  </equality>
  <actuator>
    <general class="arm" joint="joint1" gainprm="4500" biasprm="0 -4500 -450"/>
    <general class="arm" joint="joint2" biasprm="0 -4500 0" forcerange="-12 40"/>
    <motor joint="joint3" gear="-5" ctrlrange="-2 2"/>
    <general class="arm" name="grip" tendon="split"/>
  </actuator>
</mujoco>
"""

GEOM_ARM = """
<mujoco model="geoms">
  <compiler angle="degree"/>
  <worldbody>
    <body name="slider" pos="0.1 0 0.5" euler="10 20 30">
      <joint name="rail" type="slide" axis="1 0 0" range="-0.5 0.7" ref="0.1" damping="5"/>
      <joint name="turn" axis="0 0.6 0.8" pos="0 0.1 0" range="-90 120" ref="-20"/>
      <geom type="cylinder" size="0.1 0.3" density="700"/>
      <body pos="0.2 0 0.3">
        <joint pos="0 0.05 0.1" axis="0 1 1" armature="0.02"/>
        <geom type="box" size="0.1 0.05 0.2" pos="0 0.02 0.2" euler="5 0 0"/>
        <geom type="ellipsoid" size="0.1 0.05 0.05" pos="0 0 0.4"/>
        <geom type="sphere" size="0.07" pos="0.1 0 0.4"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor joint="rail" gear="50" ctrlrange="-1 2"/></actuator>
</mujoco>
"""
